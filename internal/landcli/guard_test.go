package landcli

import (
	"strings"
	"testing"
)

// A target that is not known refuses every push: nobody knows which branch it is.
func TestGuard_unknownTarget(t *testing.T) {
	o := &Office{Project: "web"}
	updates := []update{{strings.Repeat("0", 40), strings.Repeat("1", 40), "refs/heads/topic"}}
	for _, land := range []string{"origin/", "pr:", "a b", "svn:trunk/../x"} {
		if err := o.guard(t.Context(), land, updates); err == nil || !strings.Contains(err.Error(), "nothing can be pushed") {
			t.Errorf("guard(%q) = %v", land, err)
		}
	}
	for _, land := range []string{"", "main"} {
		if err := o.guard(t.Context(), land, updates); err != nil {
			t.Errorf("guard(%q) = %v", land, err)
		}
	}
}
