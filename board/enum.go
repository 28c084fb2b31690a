package board

// The values of our enumerations are words of a known form. A value that is not is rejected
// when it is decoded, from a server or from an export: it would be printed as if it were ours.
// A word that is not known may be a newer program's.

func (s *Status) UnmarshalText(text []byte) error        { return decodeWord(s, text) }
func (s *State) UnmarshalText(text []byte) error         { return decodeWord(s, text) }
func (k *Kind) UnmarshalText(text []byte) error          { return decodeWord(k, text) }
func (c *Cause) UnmarshalText(text []byte) error         { return decodeWord(c, text) }
func (p *Policy) UnmarshalText(text []byte) error        { return decodeWord(p, text) }
func (k *ActorKind) UnmarshalText(text []byte) error     { return decodeWord(k, text) }
func (s *QuestionState) UnmarshalText(text []byte) error { return decodeWord(s, text) }
func (k *EvidenceKind) UnmarshalText(text []byte) error  { return decodeWord(k, text) }
func (c *ReasonCode) UnmarshalText(text []byte) error    { return decodeWord(c, text) }
func (s *IntentState) UnmarshalText(text []byte) error   { return decodeWord(s, text) }
func (k *ReturnKind) UnmarshalText(text []byte) error    { return decodeWord(k, text) }

// maxWord is how long a word of an enumeration may be.
const maxWord = 40

// decodeWord sets a value of an enumeration.
func decodeWord[T ~string](to *T, text []byte) error {
	for _, b := range text {
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '_' && b != '-' || len(text) > maxWord {
			return invalid("%.40q is not a word of the board", text)
		}
	}
	*to = T(text)
	return nil
}

// An import takes only words that are known: its file may be anybody's.
var (
	kinds = []Kind{
		EventCreated, EventEdited, EventStarted, EventClaimed, EventDelivered, EventRevived, EventNote, EventRed, EventUnjudged, EventDone, EventReview,
		EventAccepted, EventReviewing, EventReviewEnded, EventCommented, EventRejected, EventLanding, EventLanded, EventReturned, EventFailed, EventExpired, EventReleased, EventParked, EventAsked, EventAnswered,
		EventWithdrawn, EventUnblocked, EventDue, EventRetried, EventClosed, EventCancelled, EventImported, EventTold, EventErased,
	}
	causes = []Cause{
		"", CauseDone, CauseFailed, CauseExpired, CauseReleased, CauseNotNow, CauseParked, CauseCancelled, CauseRestarts, CauseUndelivered, CauseStopped,
		CauseClosed, CauseLeft,
	}
)
