package mcpcli

import (
	"testing"
)

func TestShellWords(t *testing.T) {
	words := []string{"npx", "-y", "@a/b", "it's", "a b", "", "$(x)", "é"}
	if got, want := shellWords(words), `npx -y @a/b 'it'\''s' 'a b' '' '$(x)' 'é'`; got != want {
		t.Errorf("shellWords = %s, want %s", got, want)
	}
}
