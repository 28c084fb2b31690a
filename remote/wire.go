package remote

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// as is how a client wants to act, within what its key allows.
type as struct {
	Owner  string `json:"owner,omitzero"`  // its process
	Worker string `json:"worker,omitzero"` // the agent's name, if it is known
	Person bool   `json:"person,omitzero"` // a person is at the keyboard
	Shell  bool   `json:"shell,omitzero"`  // it runs in an agent's shell
}

// The form of values on the wire: tasks and roles are named as everywhere, durations
// are nanoseconds, zero values are left out.
var codec = jsonv2.JoinOptions(
	jsonv2.OmitZeroStructFields(true),
	jsonv2.WithMarshalers(marshalers),
	jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, to *time.Duration) error {
			var n int64
			if err := jsonv2.UnmarshalDecode(d, &n); err != nil {
				return err
			}
			*to = time.Duration(n)
			return nil
		}),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, to *board.ID) error {
			var name string
			if err := jsonv2.UnmarshalDecode(d, &name); err != nil || name == "" {
				return err
			}
			id, err := board.ParseID(name)
			*to = id
			return err
		}),
		// Handles are written as they are, in what models read.
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, to *board.Handle) error {
			type plain board.Handle
			return cmp.Or(jsonv2.UnmarshalDecode(d, (*plain)(to)), to.Check())
		}),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, to *board.Claim) error {
			type plain board.Claim
			return cmp.Or(jsonv2.UnmarshalDecode(d, (*plain)(to)), to.Check())
		}),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, to *board.Attempt) error {
			type plain board.Attempt
			return cmp.Or(jsonv2.UnmarshalDecode(d, (*plain)(to)), to.Check())
		}),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, to *auth.Role) error {
			var name string
			if err := jsonv2.UnmarshalDecode(d, &name); err != nil {
				return err
			}
			// A role that a newer server has is none here.
			*to, _ = auth.ParseRole(name)
			return nil
		}),
	)),
)

var marshalers = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, d time.Duration) error {
		return e.WriteToken(jsontext.Int(int64(d)))
	}),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, id board.ID) error {
		return e.WriteToken(jsontext.String(id.String()))
	}),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, r auth.Role) error {
		return e.WriteToken(jsontext.String(r.String()))
	}),
)

func marshal(v any) ([]byte, error) { return jsonv2.Marshal(v, codec) }

// marshal writes what the caller is answered. Of the processes and conversations of others it tells
// nothing, wherever in the answer they are.
func (c *call) marshal(v any) ([]byte, error) {
	return jsonv2.Marshal(v, codec, jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, claim board.Claim) error {
			type plain board.Claim
			if claim.Owner = c.process(claim.Owner); claim.Owner == board.AnotherOwner {
				claim.Session = ""
			}
			return jsonv2.MarshalEncode(e, plain(claim))
		}),
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, a board.Attempt) error {
			type plain board.Attempt
			a.Owner = c.process(a.Owner)
			return jsonv2.MarshalEncode(e, plain(a))
		}),
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, q board.Question) error {
			type plain board.Question
			if q.Owner != "" && q.Owner != c.caller.Owner { // without an owner its asker has left
				q.Owner = c.process(q.Owner)
			}
			return jsonv2.MarshalEncode(e, plain(q))
		}),
		marshalers,
	)))
}

func unmarshal(b []byte, v any) error { return jsonv2.Unmarshal(b, v, codec) }

// codeRefused is for what the board has refused; the data says how.
const codeRefused = -32000

// kinds are the board's errors by their names on the wire.
var kinds = []struct {
	name string
	err  error
}{
	{"not_found", board.ErrNotFound},
	{"cursor_too_old", board.ErrCursorTooOld},
	{"invalid", board.ErrInvalid},
	{"conflict", board.ErrConflict},
	{"denied", board.ErrDenied},
	{"lease_lost", board.ErrLeaseLost},
	{"full", board.ErrFull},
	{"unknown", board.ErrUnknown},
	{"unavailable", board.ErrUnavailable},
	{"too_new", board.ErrTooNew},
}

// A wireError is an error of the board. At most one of the pointers is set.
type wireError struct {
	Kind       string                 `json:"kind"`
	Text       string                 `json:"text"`
	Lost       *board.LostError       `json:"lost,omitzero"`
	Evidence   *board.EvidenceError   `json:"evidence,omitzero"`
	Edited     *board.EditedError     `json:"edited,omitzero"`
	Unanswered *board.UnansweredError `json:"unanswered,omitzero"`
	Unfinished *board.UnfinishedError `json:"unfinished,omitzero"`
	Cycle      *board.CycleError      `json:"cycle,omitzero"`
	Led        *board.LedError        `json:"led,omitzero"`
	Step       *board.StepError       `json:"step,omitzero"`
	Held       *board.HeldError       `json:"held,omitzero"`
	Stopped    *board.StoppedError    `json:"stopped,omitzero"`
	Archived   *board.ArchivedError   `json:"archived,omitzero"`
	Nothing    *board.Nothing         `json:"nothing,omitzero"`
}

// EncodeError puts an error of the board on the wire, as the operations do, for methods that
// a server has besides them. Any other error is the server's own business and is returned as
// it is.
func EncodeError(err error) error { return encodeError(err, marshal) }

func encodeError(err error, marshal func(any) ([]byte, error)) error {
	w := wireError{Text: err.Error()}
	w.Lost, _ = errors.AsType[*board.LostError](err)
	w.Evidence, _ = errors.AsType[*board.EvidenceError](err)
	w.Edited, _ = errors.AsType[*board.EditedError](err)
	w.Unanswered, _ = errors.AsType[*board.UnansweredError](err)
	w.Unfinished, _ = errors.AsType[*board.UnfinishedError](err)
	w.Cycle, _ = errors.AsType[*board.CycleError](err)
	w.Led, _ = errors.AsType[*board.LedError](err)
	w.Step, _ = errors.AsType[*board.StepError](err)
	w.Held, _ = errors.AsType[*board.HeldError](err)
	w.Stopped, _ = errors.AsType[*board.StoppedError](err)
	w.Archived, _ = errors.AsType[*board.ArchivedError](err)
	w.Nothing, _ = errors.AsType[*board.Nothing](err)
	if w.Nothing != nil {
		w.Kind = "nothing"
	}
	for _, k := range kinds {
		if w.Kind == "" && errors.Is(err, k.err) {
			w.Kind = k.name
		}
	}
	if w.Kind == "" {
		return err
	}
	switch w.Kind {
	case "full", "unknown", "unavailable": // a driver's words may be in it
		w.Text = kindOf(w.Kind).Error()
	}
	data, failed := marshal(w)
	if failed != nil {
		return failed
	}
	e := &jsonrpc.Error{Code: codeRefused, Message: w.Text, Data: data}
	if w.Kind == "denied" {
		return &deniedError{e}
	}
	return e
}

// A deniedError is a refusal for want of a right, which the audit stream tells from
// others.
type deniedError struct{ refused *jsonrpc.Error }

func (e *deniedError) Error() string { return e.refused.Error() }
func (e *deniedError) Unwrap() error { return e.refused }
func (*deniedError) Denied() bool    { return true }

func kindOf(name string) error {
	for _, k := range kinds {
		if k.name == name {
			return k.err
		}
	}
	return nil
}

// A remoteError has the words of an error at the server, and is of its kind.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// decodeError makes an error of the board of an answer.
func decodeError(e *jsonrpc.Error) error {
	var w wireError
	if e.Code == jsonrpc.CodeMethodNotFound {
		return fmt.Errorf("the server is older than this program; upgrade the server: %w", e)
	}
	if e.Code != codeRefused || unmarshal(e.Data, &w) != nil {
		return fmt.Errorf("the server answered: %w", e)
	}
	var kind error
	switch {
	case w.Lost != nil:
		kind = w.Lost
	case w.Evidence != nil:
		kind = w.Evidence
	case w.Edited != nil:
		kind = w.Edited
	case w.Unanswered != nil:
		kind = w.Unanswered
	case w.Unfinished != nil:
		kind = w.Unfinished
	case w.Cycle != nil:
		kind = w.Cycle
	case w.Led != nil:
		kind = w.Led
	case w.Step != nil:
		kind = w.Step
	case w.Held != nil:
		kind = w.Held
	case w.Stopped != nil:
		kind = w.Stopped
	case w.Archived != nil:
		kind = w.Archived
	case w.Nothing != nil:
		return w.Nothing
	default:
		kind = kindOf(w.Kind)
	}
	if kind == nil {
		return fmt.Errorf("the server answered: %w", e)
	}
	return &remoteError{w.Text, kind}
}
