package boardcli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPutPlace(t *testing.T) {
	var method, path, query string
	var length int64
	var body []byte
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method, path, query, length = r.Method, r.URL.Path, r.URL.RawQuery, r.ContentLength
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
	}))
	defer s.Close()
	put := func() (string, error) {
		p, _, err := newPlace(s.URL+"/bucket/web.gz?X-Signature=s3cret", "web", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Write([]byte("one\ntwo\n")); err != nil {
			t.Fatal(err)
		}
		saved, err := p.Save(t.Context())
		return saved.Place, err
	}
	place, err := put()
	if err != nil {
		t.Fatal(err)
	}
	if place != s.URL+"/bucket/web.gz" {
		t.Errorf("place = %s, want it without the signature", place)
	}
	if method != "PUT" || path != "/bucket/web.gz" || query != "X-Signature=s3cret" || length != int64(len(body)) {
		t.Errorf("%s %s?%s with length %d, want a PUT of %d bytes to the URL", method, path, query, length, len(body))
	}
	if lines, torn, err := unpack(body); string(lines) != "one\ntwo\n" || torn || err != nil {
		t.Errorf("the body unpacks to %q, %v, %v", lines, torn, err)
	}
	// Neither a refusal nor a redirect is an acknowledgement, and no error has the signature.
	for _, status = range []int{403, 500, 302} {
		if _, err := put(); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("status %d: error %v, want one without the signature", status, err)
		}
	}
	s.Close()
	if _, err := put(); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("no server: error %v, want one without the signature", err)
	}
	for _, to := range []string{"http://example.org/x?sig=s3cret", "ftp://localhost/x?sig=s3cret", "https://?sig=s3cret"} {
		if _, _, err := newPlace(to, "web", time.Now()); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("newPlace(%s) = %v, want an error without the signature", to, err)
		}
	}
}

func TestFilePlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new") + "/"
	p, _, err := newPlace(dir, "web", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory exists before anything is saved")
	}
	for _, text := range []string{"one\n", "two\n"} {
		if _, err := p.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(p.Name())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v, want it for its owner alone", info.Mode(), err)
	}
	file, err := os.ReadFile(p.Name())
	if err != nil {
		t.Fatal(err)
	}
	if got, torn, err := unpack(file); string(got) != "one\ntwo\n" || torn || err != nil {
		t.Errorf("Unpack = %q, %v, %v", got, torn, err)
	}
	// Whatever of the second part is missing, the first is there.
	for n := len(file) - 1; ; n-- {
		got, torn, err := unpack(file[:n])
		if err != nil {
			t.Fatalf("the first %d of %d bytes: %v", n, len(file), err)
		}
		if !torn {
			break
		}
		if string(got) != "one\n" {
			t.Fatalf("the first %d of %d bytes: %q, want what was saved first", n, len(file), got)
		}
	}
	if _, _, err := unpack(file[:8]); err == nil {
		t.Error("a file without a whole part unpacks")
	}
}
