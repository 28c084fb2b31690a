package console

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"strings"
)

// Page runs f, and shows what it writes to standard output in the pager, if that is a terminal.
func (c *Console) Page(f func() error) error {
	words := c.pager()
	if len(words) == 0 {
		return f()
	}
	var text bytes.Buffer
	terminal := c.Out
	c.Out = bufio.NewWriter(newEscaper(&text))
	err := errors.Join(f(), c.Out.Flush())
	c.Out = terminal
	if err != nil {
		return err
	}
	if err := c.Out.Flush(); err != nil {
		return err
	}
	if c.Pager(words, &text) != nil { // it was not started
		_, err = c.stdout.Write(text.Bytes())
	}
	return err
}

// pager is the command of the pager: $PAGER, or less. It is empty if there is none; cat is none.
func (c *Console) pager() []string {
	if c.Pager == nil || c.JSON || !c.OutIsTerminal() {
		return nil
	}
	words := strings.Fields(cmp.Or(c.Getenv("PAGER"), "less"))
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	return words
}
