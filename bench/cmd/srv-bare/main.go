// Command srv-bare serves the tool echo with what impl/bare has.
package main

import (
	"log"
	"os"

	"github.com/bossman-dev/bossman/bench/impl/bare"
	"github.com/bossman-dev/bossman/bench/subject"
)

func main() {
	if err := run(subject.Parse()); err != nil {
		log.Fatal(err)
	}
}

func run(c subject.Config) error {
	v := bare.Variant(c.Variant)
	if c.Mode == "stdio" {
		return bare.Stdio(os.Stdin, os.Stdout, v)
	}
	h, err := bare.NewHTTP(v, bare.HTTPOptions{Stateless: c.Stateless, SSE: !c.JSON})
	if err != nil {
		return err
	}
	return subject.Serve(h)
}
