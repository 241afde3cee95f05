// An HTTP/1.1 server on Go's net/http: echoes bodies, says how many connections it saw. Prints its
// port. Ends when its standard input does.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

func main() {
	var connections atomic.Int64
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &http.Server{
		IdleTimeout: time.Second,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/connections":
				fmt.Fprint(w, connections.Load())
			case r.Method == http.MethodPost:
				// Go drops what it has not read of a body once it begins to answer.
				body, err := io.ReadAll(r.Body)
				if err == nil {
					w.Write(body)
				}
			default:
				io.WriteString(w, r.URL.Path)
			}
		}),
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go server.Serve(listener)
	io.Copy(io.Discard, os.Stdin)
}
