// Package subject is what every measured server shares: its flags, its
// listener, and the signals by which the load generator asks it for things.
//
//	SIGUSR1  collect garbage and give the memory back
//	SIGHUP   say on stdout how many bytes have been allocated since the start
//	SIGUSR2  start the CPU profile; the second time write the profiles and exit
package subject

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"syscall"
	"time"
)

// Config is how the load generator wants a server to run.
type Config struct {
	Mode      string // stdio or http
	Stateless bool   // HTTP: requests of 2026-07-28, no sessions
	JSON      bool   // HTTP: answer with application/json, not an event stream
	Variant   string // means something to the server alone
}

// Parse reads the flags and begins to listen for signals, for as long as the
// process lives.
func Parse() Config {
	var c Config
	flag.StringVar(&c.Mode, "mode", "stdio", "stdio or http")
	flag.BoolVar(&c.Stateless, "stateless", false, "HTTP: requests of 2026-07-28, no sessions")
	flag.BoolVar(&c.JSON, "json", false, "HTTP: answer with application/json")
	flag.StringVar(&c.Variant, "variant", "", "which flavour of the server")
	profile := flag.String("profile", "", "`file` for the CPU profile; the allocations go to file.allocs")
	flag.Parse()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP)
	go obey(signals, *profile)
	return c
}

// Serve listens on a free loopback port, says which on stdout and serves h until
// stdin ends, so that a server never outlives the load generator. Every server has
// the same timeouts, those of our package streamable: without any, none of them
// could face a network, and each deadline costs a little.
func Serve(h http.Handler) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Printf("ADDR %s\n", ln.Addr()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func obey(signals <-chan os.Signal, profile string) {
	var cpu *os.File
	for s := range signals {
		switch {
		case s == syscall.SIGUSR1:
			debug.FreeOSMemory()
		case s == syscall.SIGHUP:
			sayAllocated()
		case profile == "":
			log.Print("asked for a profile without -profile")
		case cpu == nil:
			var err error
			if cpu, err = startProfile(profile); err != nil {
				log.Fatal(err)
			}
		default:
			if err := writeProfiles(cpu, profile+".allocs"); err != nil {
				log.Fatal(err)
			}
			os.Exit(0)
		}
	}
}

func sayAllocated() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if _, err := fmt.Printf("ALLOCATED %d\n", m.TotalAlloc); err != nil {
		log.Fatal(err)
	}
}

func startProfile(name string) (*os.File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return f, pprof.StartCPUProfile(f)
}

func writeProfiles(cpu *os.File, allocs string) error {
	pprof.StopCPUProfile()
	if err := cpu.Close(); err != nil {
		return err
	}
	f, err := os.Create(allocs)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
