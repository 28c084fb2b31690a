// Command clients measures what a tool call costs a client: ours, the one of
// go-sdk, and one that does next to nothing, side by side, each in a process of its
// own against the same server, over a pipe and by HTTP, with and without a handshake.
//
//	go build -o bin/ ./cmd/... && bin/clients
//
// The figure is the CPU time of the client's process per call, kernel time included.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

// A caller calls the tool echo.
type caller interface {
	call(ctx context.Context, text string) error
	close()
}

// The two eras: without a handshake, and with one.
const (
	modern  = "2026-07-28"
	session = "2025-11-25"
)

// A way is how a client speaks to the server.
type way struct{ mode, revision string }

// The clients, by name; the first is what the others are compared with.
var names = []string{"bare", "bossman", "go-sdk"}

func main() {
	log.SetFlags(0)
	one := flag.String("one", "", "measure this `client` alone, in this process")
	mode := flag.String("mode", "stdio", "stdio or http, with -one")
	revision := flag.String("revision", modern, "`revision` to speak, "+modern+" or "+session+", with -one")
	size := flag.Int("size", 32, "bytes of text, with -one")
	width := flag.Int("width", 1, "calls at once, with -one")
	d := flag.Duration("d", time.Second, "how long to measure")
	profile := flag.String("profile", "", "`file` for the CPU profile, with -one")
	rounds := flag.Int("rounds", 5, "how often; the median counts")
	flag.Parse()
	ctx := context.Background()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	if *one != "" {
		cpu, err := measure(ctx, *one, way{*mode, *revision}, *size, *width, *d)
		if err != nil {
			log.Fatalf("%s: %v", *one, err)
		}
		fmt.Println(cpu)
		return
	}
	if err := compare(*rounds, *d); err != nil {
		log.Fatal(err)
	}
}

// compare measures all clients in turn, and prints a table.
func compare(rounds int, d time.Duration) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "µs of CPU per call\tbare\tbossman\t×\tgo-sdk\t×\t")
	for _, x := range []way{{"stdio", modern}, {"stdio", session}, {"http", modern}, {"http", session}} {
		for _, size := range []int{32, 64 << 10} {
			for _, width := range []int{1, 16} {
				all := map[string][]float64{}
				for range rounds {
					for _, name := range names {
						out, err := exec.Command(os.Args[0], "-one", name, "-mode", x.mode, "-revision", x.revision, "-d", d.String(),
							"-size", strconv.Itoa(size), "-width", strconv.Itoa(width)).CombinedOutput()
						us, numErr := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
						if err != nil || numErr != nil {
							return fmt.Errorf("%s, %s, %s: %w: %s", name, x.mode, x.revision, err, out)
						}
						all[name] = append(all[name], us)
					}
				}
				median := func(name string) float64 {
					slices.Sort(all[name])
					return all[name][len(all[name])/2]
				}
				bare := median("bare")
				fmt.Fprintf(w, "%s, %s, %d B, %d at once\t%.1f\t%.1f\t%.2f\t%.1f\t%.2f\t\n", x.mode, x.revision, size, width,
					bare, median("bossman"), median("bossman")/bare, median("go-sdk"), median("go-sdk")/bare)
			}
		}
	}
	return w.Flush()
}

// measure returns the CPU time per call in µs.
func measure(ctx context.Context, name string, x way, size, width int, d time.Duration) (float64, error) {
	server := filepath.Join(filepath.Dir(os.Args[0]), "srv-bossman")
	c, err := connect(ctx, name, x, server)
	if err != nil {
		return 0, err
	}
	defer c.close()
	text := strings.Repeat("x", size)
	if _, err := drive(ctx, c, text, width, d/4); err != nil {
		return 0, err
	}
	before := used()
	n, err := drive(ctx, c, text, width, d)
	return float64((used() - before).Nanoseconds()) / 1000 / float64(n), err
}

// drive calls for a while, and returns how often.
func drive(ctx context.Context, c caller, text string, width int, d time.Duration) (int, error) {
	counts, errs := make([]int, width), make([]error, width)
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for i := range width {
		wg.Go(func() {
			for time.Now().Before(end) {
				if errs[i] = c.call(ctx, text); errs[i] != nil {
					return
				}
				counts[i]++
			}
		})
	}
	wg.Wait()
	n := 0
	for i := range width {
		if errs[i] != nil {
			return 0, errs[i]
		}
		n += counts[i]
	}
	return n, nil
}

// used is the CPU time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
