package console

import (
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	names := []string{"get-sum", "get-env", "echo", "trigger-long-running-operation"}
	for name, want := range map[string]string{
		"get-sun": "get-sum", "getsum": "get-sum", "Echo": "echo", "long": "trigger-long-running-operation", "nothing": "", "": "",
	} {
		if got := strings.Join(Near(name, names)[:min(1, len(Near(name, names)))], ""); got != want {
			t.Errorf("Near(%s) = %s, want %s", name, got, want)
		}
	}
}
