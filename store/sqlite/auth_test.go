package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/auth/authtest"
	"github.com/bossman-dev/bossman/store/sqlite"
)

func openAuth(t *testing.T) (auth.Store, string) {
	path := filepath.Join(t.TempDir(), "board.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, path
}

func TestAuth(t *testing.T) {
	authtest.Run(t, func(t *testing.T) auth.Store { return sqlite.OpenEmpty(t) })
}

// TestAuth_readingCreatesNothing: whoever asks about a key where there is no board
// leaves none behind.
func TestAuth_readingCreatesNothing(t *testing.T) {
	s, path := openAuth(t)
	_, _ = s.Key(t.Context(), "aaaaaaaaaaaa")
	_, _ = s.People(t.Context())
	_, _ = s.Changes(t.Context(), 0)
	_, _ = s.RevokeKey(t.Context(), "aaaaaaaaaaaa", "", time.Now())
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file now")
	}
}

// TestAuth_noPlaintext looks for the key in the bytes of the files.
func TestAuth_noPlaintext(t *testing.T) {
	s, path := openAuth(t)
	k, text, err := auth.New(s, nil).CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: "web", Role: auth.Worker})
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	files, _ := filepath.Glob(path + "*")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	secret := text.Reveal()[strings.LastIndex(text.Reveal(), "_")+1:]
	if !bytes.Contains(all, []byte(k.ID)) || bytes.Contains(all, []byte(secret)) || bytes.Contains(all, []byte(secret[:20])) {
		t.Error("the files do not have the key's id, or have its secret")
	}
}
