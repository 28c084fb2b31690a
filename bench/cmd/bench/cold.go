package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const starts = 30

// coldSuite measures how long a client waits between starting a server and its
// first answer.
func coldSuite(o *options, w io.Writer) error {
	servers, err := stdioServers(o.only)
	if err != nil {
		return err
	}
	costs := make([]startCosts, len(servers))
	for range starts {
		for i, s := range servers {
			if err := costs[i].add(s, o); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	p := printer{w: w}
	p.printf("\n### From exec to the answer to initialize, stdio, %d interleaved starts\n\n", starts)
	p.printf("| server | median ms | p90 ms | × %s | CPU ms | RSS MiB | binary MiB |\n|---|--:|--:|--:|--:|--:|--:|\n", servers[0].name)
	for i, s := range servers {
		c := costs[i]
		var ratios []float64
		for j := range c.wall {
			ratios = append(ratios, c.wall[j]/costs[0].wall[j])
		}
		info, err := os.Stat(filepath.Join(o.bin, s.bin))
		if err != nil {
			return err
		}
		p.printf("| %s | %.2f | %.2f | %.2f | %.2f | %.1f | %.1f |\n", s.name, median(c.wall), slices.Sorted(slices.Values(c.wall))[starts*9/10],
			median(ratios), median(c.cpu), median(c.rss), float64(info.Size())/(1<<20))
	}
	return p.err
}

// startCosts has one value a start: milliseconds and MiB.
type startCosts struct {
	wall, cpu, rss []float64
}

func (c *startCosts) add(s server, o *options) error {
	begin := time.Now()
	p, err := s.start(o, "stdio")
	if err != nil {
		return err
	}
	defer p.stop()
	l := &line{p: p, r: bufio.NewReaderSize(p.out, 64<<10)}
	answer, err := l.call([]byte(initialize + "\n"))
	wall := time.Since(begin)
	if err != nil {
		return err
	}
	if !bytes.Contains(answer, []byte(`"serverInfo"`)) {
		return fmt.Errorf("%w: %.300q", errNoServerInfo, answer)
	}
	used, err := p.cpu()
	if err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond)
	rss, err := p.rss()
	if err != nil {
		return err
	}
	c.wall = append(c.wall, micros(wall)/1e3)
	c.cpu = append(c.cpu, micros(used)/1e3)
	c.rss = append(c.rss, rss/1024)
	return nil
}
