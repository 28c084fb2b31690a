package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// A Guard binds calls to claims. The caller is in the context.
type Guard interface {
	// Admit decides whether a call may be sent now. It is the last step before that. An error
	// refuses the call, and is shown to the model if it is an *mcp.ToolError.
	Admit(ctx context.Context, c GuardedCall) (*Admitted, error)
	// Person reports whether a person sits at the caller's client. Else what an upstream asks the user is not shown there, since the
	// answer would be the model's.
	Person(ctx context.Context) bool
}

// A GuardedCall is a call that is about to be sent.
type GuardedCall struct {
	Upstream, Tool string // by the upstream's own name
	Class          Class
	Claim, Step    string // of the arguments; may be empty
	// Arguments are in canonical form. Keep says whether the journal has them.
	Arguments json.RawMessage
	Keep      bool
	Limit     time.Duration // how long it may take
	// Relayed is set if the call goes to another gateway, which admits it. Then only the claim is needed that
	// it is made under.
	Relayed bool
}

// Admitted is a call that may be sent.
type Admitted struct {
	// Claim is what a relayed call is made under, or empty.
	Claim string
	// Limit is how long the call may take; zero means that of the request.
	Limit time.Duration
	// Recorded is the result of an earlier call of the same step. If it is set, the call is not sent.
	Recorded json.RawMessage
	// Follow runs while the call does, until ctx ends, and keeps it admitted if it takes longer than its limit, because
	// it makes progress or asks. Its error says that the claim has ended: then the call is cancelled. It may be nil.
	Follow func(ctx context.Context) error
	// Ask asks people what the upstream asks, if the caller's client has no forms, or nobody sits there. It may be nil.
	Ask func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// Done is called with how the call ended, and may replace the result, such as by a part
	// of it. It may be nil.
	Done func(ctx context.Context, end CallEnd) (json.RawMessage, error)
}

// A CallEnd is how a call ended.
type CallEnd struct {
	Outcome Outcome
	Result  json.RawMessage // if there is one
	Err     error
}

// An Outcome is how a call ended, as far as is known.
type Outcome string

const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool_error" // the result is an error for the model
	OutcomeRPCError  Outcome = "rpc_error"  // the upstream refused it
	OutcomeNotSent   Outcome = "not_sent"
	OutcomeUnknown   Outcome = "unknown" // it was sent, and there is no answer
)

// MarkRecorded returns a result with a mark that says that it is that of an earlier call.
func MarkRecorded(result json.RawMessage) (json.RawMessage, error) {
	return setMeta(result, "dev.bossman/recorded", json.RawMessage("true"))
}
