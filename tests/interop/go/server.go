// An HTTP/1.1 server on Go's net/http: echoes bodies, says how many connections it saw. Prints its
// port. Ends when its standard input does. Usage: server IDLE_MS.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	var connections atomic.Int64
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	idle, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	var lock sync.Mutex
	var ids []string
	server := &http.Server{
		IdleTimeout: time.Duration(idle) * time.Millisecond,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/connections":
				fmt.Fprint(w, connections.Load())
			case r.URL.Path == "/ids":
				lock.Lock()
				defer lock.Unlock()
				io.WriteString(w, strings.Join(ids, "\n"))
			case r.URL.Path == "/id":
				lock.Lock()
				defer lock.Unlock()
				ids = append(ids, r.Header.Get("x-id"))
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
