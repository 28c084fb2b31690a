package push

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

func decode(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEncrypt_vector: the example of RFC 8291, appendix A.
func TestEncrypt_vector(t *testing.T) {
	own, err := ecdh.P256().NewPrivateKey(decode(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	browser := decode(t, "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
	got, err := encrypt([]byte("When I grow up, I want to be a watermelon"), browser, auth.Secret(decode(t, "BTBZMqHH6r4Tts7J_aSIgg")), own, decode(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if text := base64.RawURLEncoding.EncodeToString(got); text != want {
		t.Errorf("encrypt = %s, want %s", text, want)
	}
	if _, err := encrypt(make([]byte, maxMessage+1), browser, "", own, nil); !errors.Is(err, board.ErrInvalid) {
		t.Errorf("encrypt(too much) = %v", err)
	}
}

// TestSignature_vector: the example of the Standard Webhooks libraries.
func TestSignature_vector(t *testing.T) {
	key, err := webhookKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature = %s, want %s", got, want)
	}
	for _, bad := range []auth.Secret{"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_%%"} {
		if _, err := webhookKey(bad); !errors.Is(err, board.ErrInvalid) {
			t.Errorf("webhookKey(%q) = %v", bad.Reveal(), err)
		}
	}
	if _, err := webhookKey(NewSecret()); err != nil {
		t.Errorf("NewSecret is not valid: %v", err)
	}
}

func TestTarget_check(t *testing.T) {
	good := Target{Kind: Webhook, Project: "web", Owner: "ada", Name: "ci", URL: "https://example.org/hook", Secret: NewSecret(), Events: []string{"question.*"}}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	ntfy := Target{Kind: Ntfy, Key: "k", Name: "phone", URL: "https://ntfy.sh/", Topic: "boss_1", Events: []string{"question.asked"}}
	if err := ntfy.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Target){
		"no address":      func(x *Target) { x.URL = "" },
		"a password":      func(x *Target) { x.URL = "https://a:b@example.org/" },
		"a fragment":      func(x *Target) { x.URL = "https://example.org/#x" },
		"no name":         func(x *Target) { x.Name = "" },
		"no events":       func(x *Target) { x.Events = nil },
		"unknown events":  func(x *Target) { x.Events = []string{"*"} },
		"hostile events":  func(x *Target) { x.Events = []string{"task.<b>"} },
		"no project":      func(x *Target) { x.Project = "" },
		"no owner":        func(x *Target) { x.Owner = "" },
		"no secret":       func(x *Target) { x.Secret = "" },
		"an unknown kind": func(x *Target) { x.Kind = "mail" },
		"no person":       func(x *Target) { *x = ntfy; x.Key = "" },
		"a path as topic": func(x *Target) { *x = ntfy; x.Topic = "a/b" },
		"a hostile token": func(x *Target) { *x = ntfy; x.Secret = "a\r\nb" },
		"a bad public key": func(x *Target) {
			*x = ntfy
			x.Kind, x.PublicKey, x.AuthSecret = Browser, []byte("x"), "1234567890123456"
		},
	} {
		x := good
		change(&x)
		if err := x.check(); !errors.Is(err, board.ErrInvalid) {
			t.Errorf("a target with %s: %v", name, err)
		}
	}
	for typ, want := range map[string]bool{"question.asked": true, "question.answered": true, "task.done": false} {
		if good.Wants(typ) != want {
			t.Errorf("Wants(%s) = %v", typ, !want)
		}
	}
}

func TestLinks(t *testing.T) {
	ctx := t.Context()
	secrets := [][]byte{[]byte(strings.Repeat("a", 32))}
	newLinks := func() *Links {
		return &Links{secrets: func(context.Context) ([][]byte, error) { return secrets, nil }}
	}
	tap := Tap{Key: "abcdefgh2345", Question: 18, Version: "0123456789ab", Option: 1, Expires: time.Unix(time.Now().Unix()+60, 0)}
	link, err := newLinks().Sign(ctx, tap)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := newLinks().Open(ctx, link); err != nil || got != tap {
		t.Errorf("Open = %+v, %v, want %+v", got, err, tap)
	}
	// A new key signs, and the old one still opens until it is gone.
	secrets = [][]byte{[]byte(strings.Repeat("b", 32)), secrets[0]}
	if _, err := newLinks().Open(ctx, link); err != nil {
		t.Errorf("Open after a new key = %v", err)
	}
	secrets = secrets[:1]
	if _, err := newLinks().Open(ctx, link); !errors.Is(err, ErrLink) {
		t.Errorf("Open with other keys = %v, want %v", err, ErrLink)
	}
	link, err = newLinks().Sign(ctx, tap)
	if err != nil {
		t.Fatal(err)
	}
	text, mac, _ := strings.Cut(link, ".")
	other, _ := newLinks().Sign(ctx, Tap{Key: tap.Key, Question: 18, Version: tap.Version, Option: 0, Expires: tap.Expires})
	otherText, _, _ := strings.Cut(other, ".")
	for _, bad := range []string{"", ".", text, text + ".", "." + mac, otherText + "." + mac, link + "A", link[1:], link + "=", text + "." + mac[:20], strings.Repeat("A", 600) + "." + mac} {
		if _, err := newLinks().Open(ctx, bad); !errors.Is(err, ErrLink) {
			t.Errorf("Open(%q) = %v, want %v", bad, err, ErrLink)
		}
	}
	tap.Expires = time.Now().Add(-time.Second)
	if link, err = newLinks().Sign(ctx, tap); err != nil {
		t.Fatal(err)
	}
	if _, err := newLinks().Open(ctx, link); !errors.Is(err, ErrExpired) {
		t.Errorf("Open(expired) = %v, want %v", err, ErrExpired)
	}
}

func FuzzLinks_Open(f *testing.F) {
	l := &Links{secrets: func(context.Context) ([][]byte, error) { return [][]byte{make([]byte, 32)}, nil }}
	link, _ := l.Sign(context.Background(), Tap{Key: "k", Question: 1, Version: "v", Expires: time.Now().Add(time.Hour)})
	f.Add(link + "x")
	f.Fuzz(func(t *testing.T, in string) {
		if _, err := l.Open(context.Background(), in); err == nil && in != link {
			t.Errorf("Open(%q) succeeds", in)
		}
	})
}
