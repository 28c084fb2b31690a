package push_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/push"
)

// A world is a board in a database with one project, and what is needed to send.
type world struct {
	t       *testing.T
	cluster *pgtest.Cluster
	db      string
	board   *board.Board
	keys    *auth.Authenticator
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s := c.OpenIn(t, db, nil)
	w := &world{t: t, cluster: c, db: db, board: board.New(s, nil), keys: auth.New(s, nil)}
	for _, slug := range []string{"web", "api"} {
		if err := w.board.SetProject(t.Context(), board.Project{Slug: slug, Policy: board.PolicyTrust}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// person makes a key for a person and returns its id.
func (w *world) person(name, project string, role auth.Role) string {
	w.t.Helper()
	k, _, err := w.keys.CreateKey(w.t.Context(), auth.NewKey{Name: name, Owner: name, Person: true, Project: project, Role: role, By: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	return k.ID
}

// sender makes a Sender with a connection pool of its own, as a replica has.
func (w *world) sender(o push.Options) *push.Sender {
	w.t.Helper()
	s := w.cluster.OpenIn(w.t, w.db, nil)
	o.Store, o.Board, o.Keys, o.Secrets, o.Local = s.Push(), board.New(s, nil), s, s.SealKeys().Keys, true
	if o.URL == "" {
		o.URL = "https://bossman.example.org"
	}
	if o.Tick == 0 {
		o.Tick = 20 * time.Millisecond
	}
	x, err := push.New(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// run runs a Sender until the test or the returned function ends it.
func (w *world) run(s *push.Sender) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(stop)
	return stop
}

func (w *world) add(s *push.Sender, t push.Target) push.Target {
	w.t.Helper()
	if t.Name == "" {
		t.Name = "a target"
	}
	if t.Kind == push.Webhook && t.Secret == "" {
		t.Secret = push.NewSecret()
	}
	if t.Kind == push.Webhook && t.Owner == "" {
		t.Owner = "owner of " + rand.Text()
		w.person(t.Owner, auth.EveryProject, auth.Admin)
	}
	got, err := s.Add(w.t.Context(), t)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// due makes all deliveries due that wait for their next try.
func (w *world) due() {
	w.cluster.Exec(w.t, w.db, `UPDATE push_deliveries SET next_at = now() - interval '1 s'`)
}

var person = board.Actor{Principal: "local", Name: "boss", Person: true}

// task makes a task.
func (w *world) task(title string) board.Task {
	w.t.Helper()
	x, _, err := w.board.Create(w.t.Context(), person, board.NewTask{Project: "web", Title: title}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// ask makes a task whose agent asks.
func (w *world) ask(q board.NewQuestion) board.Question {
	w.t.Helper()
	w.task("Guest checkout")
	agent := board.Actor{Principal: "key:crew", Owner: "p-crew-" + rand.Text()}
	h, err := w.board.Next(w.t.Context(), agent, board.Wish{Projects: []string{"web"}})
	if err != nil {
		w.t.Fatal(err)
	}
	agent.Worker, q.Claim = h.Claim.Worker.Name, h.Claim.Handle
	asked, err := w.board.Ask(w.t.Context(), agent, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return asked
}

// A request is one that a receiver got.
type request struct {
	header http.Header
	path   string
	body   []byte
	at     time.Time
}

// A receiver is an HTTP server of ours that gets notifications.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []request
	answer func(n int, r request) int // the status for the n-th request, from 1
}

func newReceiver(t *testing.T, answer func(n int, r request) int) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		x := request{q.Header.Clone(), q.URL.Path, body, time.Now()}
		r.mu.Lock()
		r.got = append(r.got, x)
		n, answer := len(r.got), r.answer
		r.mu.Unlock()
		if answer != nil {
			w.WriteHeader(answer(n, x))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.got...)
}

// wait waits for a number of requests.
func (r *receiver) wait(t *testing.T, n int) []request {
	t.Helper()
	until(t, strconv.Itoa(n)+" requests", func() bool { return len(r.all()) >= n })
	return r.all()
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// event is what a webhook gets.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		Project, Task, Question, From, To, URL, Title, Text string
		Seq                                                 int64
		Options                                             []string
	} `json:"data"`
}

// verified checks the signature of a webhook as a receiver does, and returns what it says.
func (r *request) verified(t *testing.T, secret auth.Secret) (id string, e event) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret.Reveal(), "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	id = r.header.Get("webhook-id")
	sent, err := strconv.ParseInt(r.header.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		t.Errorf("webhook-timestamp = %q", r.header.Get("webhook-timestamp"))
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + r.header.Get("webhook-timestamp") + "." + string(r.body)))
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.header.Get("webhook-signature") != want {
		t.Errorf("webhook-signature = %q, want %q", r.header.Get("webhook-signature"), want)
	}
	if err := json.Unmarshal(r.body, &e); err != nil {
		t.Fatalf("body %s: %v", r.body, err)
	}
	return id, e
}

// A subscription is what a browser has.
type subscription struct {
	key  *ecdh.PrivateKey
	auth []byte
}

func newSubscription(t *testing.T) *subscription {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &subscription{key, make([]byte, 16)}
	rand.Read(s.auth)
	return s
}

func (s *subscription) target(key, url string) push.Target {
	return push.Target{Kind: push.Browser, Key: key, Name: "Firefox on Linux", URL: url, PublicKey: s.key.PublicKey().Bytes(), AuthSecret: auth.Secret(s.auth), Events: []string{"question.asked", "task.review", "task.failed"}}
}

// decrypt reads a message as a browser does.
func (s *subscription) decrypt(t *testing.T, body []byte) []byte {
	t.Helper()
	salt, size, id := body[:16], int(body[20]), body[21:21+int(body[20])]
	sender, err := ecdh.P256().NewPublicKey(id)
	if err != nil || size != 65 {
		t.Fatal(size, err)
	}
	shared, err := s.key.ECDH(sender)
	if err != nil {
		t.Fatal(err)
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		k, err := hkdf.Key(sha256.New, secret, salt, info, n)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	seed := derive(shared, s.auth, "WebPush: info\x00"+string(s.key.PublicKey().Bytes())+string(id), 32)
	block, err := aes.NewCipher(derive(seed, salt, "Content-Encoding: aes128gcm\x00", 16))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	text, err := gcm.Open(nil, derive(seed, salt, "Content-Encoding: nonce\x00", 12), body[21+size:], nil)
	if err != nil {
		t.Fatal(err)
	}
	return text[:len(text)-1]
}

// shown is what a browser shows.
type shown struct {
	Title, Body, URL, Tag string
	Actions               []struct{ Label, URL string }
}

func (s *subscription) shown(t *testing.T, r request) (m shown) {
	t.Helper()
	if err := json.Unmarshal(s.decrypt(t, r.body), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// checkVAPID verifies the token of a request to a push service.
func checkVAPID(t *testing.T, r request, origin, public string) {
	t.Helper()
	rest, ok := strings.CutPrefix(r.header.Get("Authorization"), "vapid t=")
	token, key, ok2 := strings.Cut(rest, ", k=")
	parts := strings.Split(token, ".")
	if !ok || !ok2 || key != public || len(parts) != 3 {
		t.Fatalf("Authorization = %q", r.header.Get("Authorization"))
	}
	decode := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	point, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), decode(key))
	if err != nil {
		t.Fatal(err)
	}
	hash, sig := sha256.Sum256([]byte(parts[0]+"."+parts[1])), decode(parts[2])
	if len(sig) != 64 || !ecdsa.Verify(point, hash[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		t.Error("the token's signature is wrong")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	if err := json.Unmarshal(decode(parts[1]), &claims); err != nil || claims.Aud != origin || claims.Sub != "https://bossman.example.org" || claims.Exp > time.Now().Add(24*time.Hour).Unix() {
		t.Errorf("claims %+v, %v, want the audience %s", claims, err, origin)
	}
}
