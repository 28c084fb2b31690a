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
