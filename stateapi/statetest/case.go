// SPDX-License-Identifier: Apache-2.0

// This file reads the cases.

package statetest

import (
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed testdata/cases.json
var script []byte

// Case is one numbered case of the contract.
type Case struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Steps  []Step `json:"steps"`
}

// Step is one call and what it must answer.
type Step struct {
	Do    string          `json:"do"`
	By    string          `json:"by"`
	Key   Bytes           `json:"key"`
	Value Bytes           `json:"value"`
	Want  json.RawMessage `json:"want"`
	TxID  int64           `json:"txid"`
	From  int             `json:"from"`
	To    int             `json:"to"`
	Error string          `json:"error"`

	Topology  string `json:"topology"`
	Owner     string `json:"owner"`
	Component string `json:"component"`
	Task      int32  `json:"task"`
	Tasks     int32  `json:"tasks"`
	Encoder   string `json:"encoder"`
}

// Cases are all cases, by number.
func Cases() ([]Case, error) {
	var file struct {
		Version int    `json:"version"`
		Cases   []Case `json:"cases"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(script)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("cases of the state contract: %w", err)
	}
	for i, c := range file.Cases {
		if c.Number != i+1 {
			return nil, fmt.Errorf("case %q has number %d, not %d", c.Name, c.Number, i+1)
		}
	}
	return file.Cases, nil
}

// Bytes is a key or a value of a step.
type Bytes []byte

// UnmarshalJSON reads a string, hex digits, or a repetition.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var plain string
	if err := json.Unmarshal(text, &plain); err == nil {
		*b = Bytes(plain)
		return nil
	}
	var form struct {
		Hex    *string `json:"hex"`
		Repeat string  `json:"repeat"`
		Length int     `json:"length"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	if form.Hex != nil {
		decoded, err := hex.DecodeString(*form.Hex)
		*b = decoded
		return err
	}
	if form.Repeat == "" {
		return fmt.Errorf("bytes written as %s", text)
	}
	*b = Bytes(strings.Repeat(form.Repeat, form.Length/len(form.Repeat)+1))[:form.Length]
	return nil
}
