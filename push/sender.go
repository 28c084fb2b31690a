package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/egress"
	"github.com/bossman-dev/bossman/internal/visible"
)

// TapPath begins the path of links.
const TapPath = "/tap/"

// Options configures a Sender. Store, Board, Keys, Secrets and URL are required.
type Options struct {
	Store Store
	Board Board
	Keys  Keys
	// Secrets returns the keys that the replicas share, see Links.
	Secrets func(ctx context.Context) ([][]byte, error)
	// URL is the address of this server for people, without a slash at the end.
	URL string
	// Local is set if receivers may have loopback and private addresses.
	Local bool
	// Logger logs what concerns the operator; nil: no logging.
	Logger *slog.Logger

	// Lease is how long a delivery is left to the replica that claimed it; default 30 s, which
	// is more than a try takes. Tick is how often a Sender looks for deliveries without being
	// woken; default 1 s.
	Lease, Tick time.Duration
}

// A Board is what a Sender needs of a board.
type Board interface {
	Project(ctx context.Context, slug string) (board.Project, error)
	Question(ctx context.Context, id board.QuestionID) (board.Question, error)
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Events(ctx context.Context, id board.ID, after int64, limit int) ([]board.Event, error)
	Answer(ctx context.Context, a board.Actor, id board.QuestionID, answer string) (board.Question, error)
	Changes() <-chan struct{}
}

// Keys reads keys.
type Keys interface {
	Key(ctx context.Context, id string) (auth.Key, error)
	// PersonKeys lists a person's own keys that are not revoked.
	PersonKeys(ctx context.Context, owner string) ([]auth.Key, error)
}

const (
	// slots is how many requests a Sender has in flight, each how many of them to one target;
	// fewer if few slots are free, so that the last ones are for targets that have none.
	slots, each = 64, 8
	// failingSlots is how many of them may be to targets that failed last.
	failingSlots = slots / 2
	// page is how many events are read at once.
	page = 500
	// pause is the minimum time between two looks at the feed: a busy board changes all the time.
	pause = 200 * time.Millisecond
	// drain is how long requests in flight may take when the Sender ends.
	drain = 2 * time.Second
	// keepDead is how many dead letters of a target are kept.
	keepDead = 1000
	// maxResponse is how much of a response is read, so that its connection can be used again.
	maxResponse = 4 << 10
)

// A Sender sends notifications. Several may run on one store, each in its replica.
type Sender struct {
	o      Options
	log    *slog.Logger
	links  *Links
	vapid  *vapid
	egress *egress.Client
	work   chan struct{} // there may be something to send, or room to send it

	mu       sync.Mutex
	inFlight map[TargetID]int
	failing  int // requests in flight to targets that failed last
	total    int
}

// New returns a Sender. It reads the key of this server for push services from the store.
func New(ctx context.Context, o Options) (*Sender, error) {
	s := &Sender{o: o, log: o.Logger, links: &Links{secrets: o.Secrets}, egress: egress.New(o.Local), work: make(chan struct{}, 1), inFlight: map[TargetID]int{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.o.Lease, s.o.Tick = cmp.Or(o.Lease, 30*time.Second), cmp.Or(o.Tick, time.Second)
	var err error
	subject := o.URL
	if !strings.HasPrefix(subject, "https://") { // push services take no other
		subject = ""
	}
	s.vapid, err = loadVAPID(ctx, o.Store, subject)
	return s, err
}

// Run sends notifications until ctx ends. It returns when all requests have ended.
func (s *Sender) Run(ctx context.Context) error {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drain, stop) })()
	wg.Go(func() { s.follow(ctx) })
	for ctx.Err() == nil {
		err := s.dispatch(ctx, func(c Claimed) { wg.Go(func() { s.deliver(sending, &c) }) })
		if err != nil {
			s.rest(ctx, "claiming notifications failed", err)
			continue
		}
		s.wait(ctx)
	}
	return ctx.Err()
}

// follow turns what happens into deliveries until ctx ends.
func (s *Sender) follow(ctx context.Context) {
	for ctx.Err() == nil {
		changes := s.o.Board.Changes()
		more, err := s.o.Store.FanOut(ctx, page, choose)
		if err != nil {
			s.rest(ctx, "preparing notifications failed", err)
			continue
		}
		s.wake()
		if !more {
			board.WaitFor(ctx, nil, min(pause, s.o.Tick))
			board.WaitFor(ctx, changes, s.o.Tick)
		}
	}
}

// rest logs an error and waits.
func (s *Sender) rest(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.log.Warn(what, "err", err)
		board.WaitFor(ctx, nil, 2*s.o.Tick)
	}
}

// wake has dispatch look again.
func (s *Sender) wake() {
	select {
	case s.work <- struct{}{}:
	default: // it is going to
	}
}

// wait waits until there may be something to send, or room to send it.
func (s *Sender) wait(ctx context.Context) {
	timer := time.NewTimer(s.o.Tick)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.work:
	case <-timer.C:
	}
}

// dispatch claims what is due, and starts to send it. Targets that failed last get a part of
// the slots only, so that they do not delay others.
func (s *Sender) dispatch(ctx context.Context, start func(Claimed)) error {
	for _, failing := range []bool{false, true} {
		for f := s.filter(failing); f.Limit > 0; f = s.filter(failing) {
			list, err := s.o.Store.Claim(ctx, f)
			if err != nil {
				return err
			}
			for _, c := range list {
				s.begin(&c)
				start(c)
			}
			if len(list) == 0 {
				break
			}
		}
	}
	return nil
}

// filter says what may be claimed now.
func (s *Sender) filter(failing bool) Filter {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := slots - s.total
	f := Filter{Limit: (free + 1) / 2, Each: max(1, min(each, free/each)), Failing: failing, Lease: s.o.Lease, Except: []TargetID{}}
	if failing {
		f.Limit, f.Each = min(f.Limit, failingSlots-s.failing), 1
	}
	for id, n := range s.inFlight {
		if n >= f.Each {
			f.Except = append(f.Except, id)
		}
	}
	return f
}

func (s *Sender) begin(c *Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	s.inFlight[c.Target.ID]++
	s.failing += toInt(c.Target.Failures > 0)
}

func (s *Sender) end(c *Claimed) {
	s.mu.Lock()
	s.total--
	if s.inFlight[c.Target.ID]--; s.inFlight[c.Target.ID] == 0 {
		delete(s.inFlight, c.Target.ID)
	}
	s.failing -= toInt(c.Target.Failures > 0)
	s.mu.Unlock()
	s.wake()
}

// deliver sends a claimed delivery and stores what came of it.
func (s *Sender) deliver(ctx context.Context, c *Claimed) {
	defer s.end(c)
	d, t := &c.Delivery, &c.Target
	err := s.try(ctx, c)
	if ctx.Err() != nil {
		return // the lease expires, and another replica tries
	}
	why := reason(err)
	switch {
	case err == nil:
		err = s.o.Store.Delivered(ctx, d)
	case errors.Is(err, errMoot):
		err = s.o.Store.Drop(ctx, d.ID)
	case errors.Is(err, errGone):
		s.log.Warn("a receiver wants no more notifications", "target", int64(t.ID), "kind", string(t.Kind), "err", why)
		err = s.o.Store.Disable(ctx, t.ID, "The receiver answered that it is gone.")
	case errors.Is(err, errOwner):
		s.log.Warn("a webhook was disabled, because its owner may not administer its project any more", "target", int64(t.ID), "owner", t.Owner)
		err = s.o.Store.Disable(ctx, t.ID, ownerless(t.Owner))
	case d.Tries > len(schedule) && t.Personal():
		err = s.o.Store.Drop(ctx, d.ID)
	case d.Tries > len(schedule):
		s.log.Warn("a webhook was not delivered", "target", int64(t.ID), "delivery", d.ID, "tries", d.Tries, "err", why)
		err = s.o.Store.Bury(ctx, d, keepDead, why)
	default:
		after := schedule[max(d.Tries, 1)-1]
		if e, ok := errors.AsType[*statusError](err); ok {
			after = max(after, min(e.retryAfter, schedule[len(schedule)-1]))
		}
		err = s.o.Store.Retry(ctx, d, after, why)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("storing the outcome of a notification failed", "delivery", d.ID, "err", err)
	}
}

// try sends a delivery once, if its target may still be told.
func (s *Sender) try(ctx context.Context, c *Claimed) error {
	r, err := s.request(ctx, &c.Target, &c.Delivery)
	if errors.Is(err, board.ErrNotFound) {
		return errMoot
	}
	if err != nil {
		return err
	}
	return s.send(ctx, r)
}

// request builds the request of a delivery.
func (s *Sender) request(ctx context.Context, t *Target, d *Delivery) (*http.Request, error) {
	now := time.Now()
	p, err := s.o.Board.Project(ctx, d.Project)
	if err != nil {
		return nil, err
	}
	if !t.Personal() {
		if p.Archived {
			return nil, errMoot
		}
		keys, err := s.o.Keys.PersonKeys(ctx, t.Owner)
		if err != nil {
			return nil, err
		}
		if !administers(keys, t.Project, now) {
			return nil, errOwner
		}
		body, err := s.payloadOf(ctx, t, d)
		if err != nil {
			return nil, err
		}
		return webhookRequest(t, d.ID, body, now)
	}
	k, err := s.o.Keys.Key(ctx, t.Key)
	if errors.Is(err, auth.ErrNotFound) {
		return nil, errMoot
	}
	if err != nil {
		return nil, err
	}
	if !allowed(&k, verbOf(d.Type), &p, now) {
		return nil, errMoot
	}
	m, err := s.messageOf(ctx, t, d, now)
	if err != nil {
		return nil, err
	}
	return s.personal(t, m, now)
}

// personal returns the request that brings a message to a person.
func (s *Sender) personal(t *Target, m *message, now time.Time) (*http.Request, error) {
	if t.Kind == Ntfy {
		return ntfyRequest(t, m)
	}
	body, err := m.encode()
	if err != nil {
		return nil, err
	}
	return browserRequest(t, s.vapid, body, max(0, m.until.Sub(now)), now)
}

// send sends a request. The error is errGone if the receiver is gone.
func (s *Sender) send(ctx context.Context, r *http.Request) error {
	r.Header.Set("User-Agent", "Bossman")
	res, err := s.egress.Do(r.WithContext(ctx))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxResponse)
	switch {
	case res.StatusCode >= 200 && res.StatusCode <= 299:
		return nil
	case res.StatusCode == http.StatusGone, res.StatusCode == http.StatusNotFound && r.Header.Get("Content-Encoding") == "aes128gcm":
		return errGone
	}
	after, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	return &statusError{res.StatusCode, time.Duration(max(0, min(after, 24*3600))) * time.Second}
}

// A statusError is an answer that is no success.
type statusError struct {
	status     int
	retryAfter time.Duration
}

func (e *statusError) Error() string { return fmt.Sprintf("it answered %d", e.status) }

// reason is an error for people, without the address, which may be a secret.
func reason(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if errors.Is(err, egress.ErrForbidden) {
		return "its address is not allowed: it must be a public one, over https"
	}
	return visible.Cut(err.Error(), 300)
}
