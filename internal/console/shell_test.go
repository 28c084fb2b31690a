package console

import (
	"testing"
)

func TestShellWords(t *testing.T) {
	words := []string{"npx", "-y", "@a/b", "it's", "a b", "", "$(x)", "é"}
	if got, want := ShellWords(words...), `npx -y @a/b 'it'\''s' 'a b' '' '$(x)' 'é'`; got != want {
		t.Errorf("ShellWords = %s, want %s", got, want)
	}
}
