package console

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/visible"
)

// PrintJSON writes v to standard output as the answer of a command with --json.
func (c *Console) PrintJSON(v any) error {
	out, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%s\n", visible.JSON(out))
	return err
}

// PrintJSONLine writes v on one line, for an answer that is a sequence of values, and
// flushes it.
func (c *Console) PrintJSONLine(v any) error {
	out, err := JSON(v)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s\n", out)
	return c.Out.Flush()
}

// JSON returns v on one line, with hidden characters spelled out: what is in it may be shown to a person
// or to a model.
func JSON(v any) ([]byte, error) {
	out, err := json.Marshal(v, json.Deterministic(true))
	return visible.JSON(out), err
}
