package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Envelope is a statement as it is signed: DSSE, the form that in-toto's signatures have. One
// without signatures is unsigned.
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []Signature `json:"signatures"`

	statement *Statement
	payload   []byte
}

// Signature is one signature over the payload and its type.
type Signature struct {
	KeyID string `json:"keyid"` // as Key.ID says it
	Sig   string `json:"sig"`   // base64
}

// New is the unsigned envelope of a statement, whose forms it fills in.
func New(s *Statement) (*Envelope, error) {
	s.Type, s.PredicateType, s.Predicate.Format = StatementType, PredicateType, Format
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	payload := bytes.TrimSpace(b.Bytes())
	return &Envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload), Signatures: []Signature{},
		statement: s, payload: payload,
	}, nil
}

// parseEnvelope reads the first entry of a bundle.
func parseEnvelope(b []byte) (*Envelope, error) {
	e := &Envelope{}
	if err := json.Unmarshal(b, e); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if e.PayloadType != payloadType {
		return nil, fmt.Errorf("%s: unknown payload %q; this program reads %q", Name, e.PayloadType, payloadType)
	}
	var err error
	if e.payload, err = base64.StdEncoding.DecodeString(e.Payload); err != nil {
		return nil, fmt.Errorf("%s: payload: %w", Name, err)
	}
	e.statement, err = parseStatement(e.payload)
	return e, err
}

// Statement is what the envelope carries.
func (e *Envelope) Statement() *Statement { return e.statement }

// Signed reports whether there is any signature, checked or not.
func (e *Envelope) Signed() bool { return len(e.Signatures) > 0 }

// signed are the bytes that are signed: DSSE's pre-authentication encoding of the payload.
func (e *Envelope) signed() []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.payload), e.payload)
}

// Sign adds a signature.
func (e *Envelope) Sign(k *PrivateKey) error {
	sig, err := k.sign(e.signed())
	if err != nil {
		return err
	}
	e.Signatures = append(e.Signatures, Signature{k.ID(), base64.StdEncoding.EncodeToString(sig)})
	return nil
}

// SignedBy reports whether a signature in the envelope is by the owner of this key.
func (e *Envelope) SignedBy(k *PublicKey) bool {
	for _, s := range e.Signatures {
		sig, err := base64.StdEncoding.DecodeString(s.Sig)
		if err == nil && k.verify(e.signed(), sig) {
			return true
		}
	}
	return false
}

// bytes are the entry.
func (e *Envelope) bytes() ([]byte, error) {
	b, err := json.MarshalIndent(e, "", "  ")
	return append(b, '\n'), err
}
