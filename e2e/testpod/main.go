// Command testpod is the one program in the image of the end-to-end tests. Without arguments it
// serves HTTP on port 8080; it is also the client that asks other pods.
//
//	testpod               serve /hostname
//	testpod get URL       print the body
//	testpod resolve NAME  print the addresses
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// patience is how long a client waits for one answer.
const patience = 5 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch {
	case len(args) == 0:
		return serve()
	case len(args) == 2 && args[0] == "get":
		return get(ctx, args[1])
	case len(args) == 2 && args[0] == "resolve":
		return resolve(ctx, args[1])
	}
	return fmt.Errorf("unknown arguments %q", args)
}

func serve() error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	http.HandleFunc("/hostname", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("asked by", r.RemoteAddr)
		fmt.Fprintln(w, name)
	})
	fmt.Println("serving as", name)
	return http.ListenAndServe(":8080", nil)
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, res.Status)
	}
	_, err = io.Copy(os.Stdout, res.Body)
	return err
}

func resolve(ctx context.Context, name string) error {
	addrs, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(addrs, " "))
	return nil
}
