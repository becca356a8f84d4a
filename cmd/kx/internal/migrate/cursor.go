package migrate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
)

// Cursor is the position at which to resume a migration.
type Cursor struct {
	Resource string `json:"resource"`
	// Continue is the server's token for the next page.
	Continue string `json:"continue,omitempty"`
	// Failed counts the objects before the cursor that could not be written.
	Failed int64 `json:"failed,omitempty"`
	// Generation is the generation of the custom resource's definition at the beginning of the migration.
	Generation int64 `json:"generation,omitempty"`
}

// String encodes the cursor as one word, for ParseCursor.
func (c Cursor) String() string {
	data, _ := json.Marshal(c) // strings and numbers: it can't fail
	return base64.RawURLEncoding.EncodeToString(data)
}

// ParseCursor reads a cursor.
func ParseCursor(text string) (*Cursor, error) {
	c := &Cursor{}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, c)
	}
	if err != nil || c.Resource == "" {
		return nil, errors.New("it is no cursor of a migration: give the one that was shown when it was stopped, whole")
	}
	return c, nil
}
