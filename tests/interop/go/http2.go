// An HTTP/2 server on Go's net/http, with TLS and a certificate that nobody signed: echoes bodies, says
// how many connections it saw. Prints its port. Ends when its standard input does.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
)

func main() {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/connections":
				fmt.Fprint(w, connections.Load())
			case r.Method == http.MethodPost:
				body, err := io.ReadAll(r.Body)
				if err == nil {
					w.Write(body)
				}
			default:
				io.WriteString(w, r.URL.Path)
			}
		}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	fmt.Println(server.Listener.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}
