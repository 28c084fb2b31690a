package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Files stores records in a directory that only its owner can read, one file
// per issuer.
type Files struct {
	root *os.Root
}

var _ Store = (*Files)(nil)

// OpenFiles opens a directory for records, creating it if necessary.
func OpenFiles(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	return &Files{root}, nil
}

// Close closes the directory.
func (f *Files) Close() error { return f.root.Close() }

func fileName(issuer string) string {
	sum := sha256.Sum256([]byte(issuer))
	return hex.EncodeToString(sum[:]) + ".json"
}

// Load returns the record of an issuer. It rejects a file that others can read,
// because its contents are no longer secret.
func (f *Files) Load(_ context.Context, issuer string) (*Record, error) {
	name := fileName(issuer)
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("oauth: %w", err)
	case !info.Mode().IsRegular() || !isPrivate(info.Mode()):
		return nil, fmt.Errorf("oauth: %s is readable by others (mode %v)", name, info.Mode())
	}
	b, err := f.root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	var r Record
	if err := jsonv2.Unmarshal(b, &r); err != nil || r.Issuer != issuer {
		return nil, fmt.Errorf("oauth: %s is not the record of %s", name, issuer)
	}
	return &r, nil
}

// Save stores a record, replacing an older one atomically.
func (f *Files) Save(_ context.Context, r *Record) error {
	b, err := jsonv2.Marshal(r, jsontext.Multiline(true), jsonv2.Deterministic(true))
	if err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	name := fileName(r.Issuer)
	fresh := name + "." + rand.Text()
	file, err := f.root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	_, err = file.Write(b)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = f.root.Rename(fresh, name)
	}
	if err != nil {
		_ = f.root.Remove(fresh)
		return fmt.Errorf("oauth: %w", err)
	}
	return nil
}
