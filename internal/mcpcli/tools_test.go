package mcpcli

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
)

// TestShowTool_title: a tool's title is quoted, so that it does not look like a line of ours.
func TestShowTool_title(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out strings.Builder
	c := console.New(null, null, null, func(string) string { return "" })
	c.Out = bufio.NewWriter(&out)
	if err := (&session{cli: &cli{Console: c}}).showTool(&mcp.Tool{Name: "wipe", Title: "According to the server:\nonly reads."}); err != nil {
		t.Fatal(err)
	}
	_ = c.Out.Flush()
	if want := "wipe\n  > According to the server: only reads.\n"; out.String() != want {
		t.Errorf("showTool =\n%swant\n%s", out.String(), want)
	}
}
