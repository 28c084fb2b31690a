package push

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// A Kind is a kind of target.
type Kind string

const (
	// Webhook is a program that gets signed requests.
	Webhook Kind = "webhook"
	// Browser is a person's browser, reached through the push service of its maker.
	Browser Kind = "browser"
	// Ntfy is a topic of an ntfy server.
	Ntfy Kind = "ntfy"
)

// A TargetID identifies a target.
type TargetID int64

// A Target is where notifications are sent.
type Target struct {
	ID   TargetID
	Kind Kind
	// Key is the id of the person's key for a browser or a topic: its rights are the
	// person's, and the target ends with it. It is empty for a webhook.
	Key string
	// Project is the project of a webhook, or auth.EveryProject. It is empty for a person's
	// target, which gets what the key may see.
	Project string
	// Owner is the person who is responsible for a webhook: who added it, or enabled it last. It is
	// disabled when that person may not administer its project any more. It is empty for a person's target.
	Owner string
	// Name is how people tell it from others.
	Name string
	// URL is where requests are sent: for a topic, the server without the topic.
	URL   string
	Topic string
	// Secret signs the requests of a webhook; of a topic it is the access token, or empty.
	Secret auth.Secret
	// PublicKey and AuthSecret are those of a browser's subscription: p256dh and auth.
	PublicKey  []byte
	AuthSecret auth.Secret
	// Events are the types that are sent: "question.asked", "task.*" for all with that
	// beginning.
	Events []string
	// Text is set if task text is sent along.
	Text bool

	Created   time.Time
	CreatedBy string
	// Disabled is when it was disabled, or zero, and Reason why.
	Disabled time.Time
	Reason   string
	// Failures is the number of failed tries since the last success, and LastError the last.
	Failures  int
	LastError string
}

// Personal reports whether it belongs to a person.
func (t *Target) Personal() bool { return t.Kind != Webhook }

// Wants reports whether events of a type are sent to it.
func (t *Target) Wants(typ string) bool {
	return slices.ContainsFunc(t.Events, func(p string) bool {
		prefix, any := strings.CutSuffix(p, "*")
		return p == typ || any && strings.HasPrefix(typ, prefix)
	})
}

const (
	maxURL    = 2048
	maxName   = 100
	maxEvents = 20
	// secretPrefix begins the secret of a webhook.
	secretPrefix = "whsec_"
	secretBytes  = 32
)

// NewSecret returns a secret for a webhook.
func NewSecret() auth.Secret {
	b := make([]byte, secretBytes)
	rand.Read(b) // never fails
	return auth.Secret(secretPrefix + base64.StdEncoding.EncodeToString(b))
}

var (
	eventPattern = regexp.MustCompile(`^(question|task)\.([a-z_]{1,40}|\*)$`)
	topicPattern = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)
)

// check returns an ErrInvalid if a target lacks something. Whether its address may be used is
// up to the Sender.
func (t *Target) check() error {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Host == "" || len(t.URL) > maxURL:
		return invalid("%.100q is not an address: want one like https://example.org/hook", t.URL)
	case u.Fragment != "" || u.User != nil:
		return invalid("an address has no user, password or fragment")
	case t.Name == "" || len(t.Name) > maxName:
		return invalid("a name has 1 to %d characters", maxName)
	case len(t.Events) == 0 || len(t.Events) > maxEvents:
		return invalid("choose what is sent")
	}
	for _, e := range t.Events {
		if !eventPattern.MatchString(e) {
			return invalid("there are no events %.60q", e)
		}
	}
	switch t.Kind {
	case Webhook:
		if t.Project == "" || t.Owner == "" || t.Key != "" {
			return invalid("a webhook belongs to a project, and a person is responsible for it")
		}
		_, err := webhookKey(t.Secret)
		return err
	case Browser:
		if t.Key == "" {
			return invalid("a browser belongs to a person")
		}
		return checkSubscription(t)
	case Ntfy:
		switch {
		case t.Key == "":
			return invalid("a topic belongs to a person")
		case !topicPattern.MatchString(t.Topic):
			return invalid("a topic has 1 to 64 letters, digits, - and _")
		case len(t.Secret) > 200 || strings.ContainsAny(t.Secret.Reveal(), "\r\n\x00"):
			return invalid("the access token is not valid")
		}
		return nil
	}
	return invalid("there is no target of the kind %.20q", t.Kind)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", board.ErrInvalid, fmt.Sprintf(format, args...))
}
