package push

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	// linkLife is how long a link is valid, at most. The keys that sign it live longer.
	linkLife = 24 * time.Hour
	// secretsAge is how long the keys are used without reading them again.
	secretsAge = 30 * time.Second
	maxLink    = 512
)

// A Tap is what a link stands for: one person's answer to one version of a question.
type Tap struct {
	// Key is the id of the person's key.
	Key      string
	Question board.QuestionID
	// Version is the digest of the question that the person was shown.
	Version string
	// Option is the index of the answer among the question's options.
	Option  int
	Expires time.Time
}

// Links sign and open links with keys that all replicas share.
type Links struct {
	// secrets returns the keys, the one to sign with first. They change.
	secrets func(ctx context.Context) ([][]byte, error)

	mu   sync.Mutex
	keys [][]byte
	read time.Time
}

// Sign returns the text of a link.
func (l *Links) Sign(ctx context.Context, t Tap) (string, error) {
	keys, err := l.current(ctx)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s %d %s %d %d", t.Key, t.Question, t.Version, t.Option, t.Expires.Unix())
	return encodeText([]byte(text)) + "." + encodeText(linkSignature(keys[0], text)), nil
}

// Open returns what a link stands for; ErrLink if it is forged, ErrExpired if it is too old.
func (l *Links) Open(ctx context.Context, link string) (t Tap, err error) {
	keys, err := l.current(ctx)
	if err != nil {
		return t, err
	}
	first, second, _ := strings.Cut(link, ".")
	text, err1 := base64.RawURLEncoding.Strict().DecodeString(first)
	signed, err2 := base64.RawURLEncoding.Strict().DecodeString(second)
	if err1 != nil || err2 != nil || len(link) > maxLink {
		return t, ErrLink
	}
	good := false
	for _, k := range keys {
		good = hmac.Equal(signed, linkSignature(k, string(text))) || good
	}
	parts := strings.Split(string(text), " ")
	if !good || len(parts) != 5 {
		return t, ErrLink
	}
	question, err1 := strconv.ParseInt(parts[1], 10, 64)
	option, err2 := strconv.Atoi(parts[3])
	expires, err3 := strconv.ParseInt(parts[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return t, ErrLink
	}
	t = Tap{Key: parts[0], Question: board.QuestionID(question), Version: parts[2], Option: option, Expires: time.Unix(expires, 0)}
	if !time.Now().Before(t.Expires) {
		return t, ErrExpired
	}
	return t, nil
}

func encodeText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func linkSignature(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// current returns the keys for links, derived from those that the replicas share.
func (l *Links) current(ctx context.Context) ([][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.keys) > 0 && time.Since(l.read) < secretsAge {
		return l.keys, nil
	}
	secrets, err := l.secrets(ctx)
	if err != nil || len(secrets) == 0 {
		if len(l.keys) > 0 {
			return l.keys, nil // the next call tries again
		}
		return nil, fmt.Errorf("read the keys of links: %w", err)
	}
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		if keys[i], err = hkdf.Key(sha256.New, secret, nil, "bossman one-tap link", 32); err != nil {
			return nil, err
		}
	}
	l.keys, l.read = keys, time.Now()
	return keys, nil
}

// versionOf is a digest of what a person is shown of a question.
func versionOf(q *board.Question) string {
	h := sha256.New()
	fmt.Fprintf(h, "%v\n%q\n%q\n%q\n%v\n%d", q.ID, q.Text, q.Options, q.Default, q.HumanOnly, q.NeededBy.Unix())
	return hex.EncodeToString(h.Sum(nil)[:12])
}
