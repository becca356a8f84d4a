package object

// StoredSize is how many bytes are stored of it.
func (e *Encoded) StoredSize() int {
	p := e.bytes.Load()
	if p == nil {
		return 0
	}
	return len(p.data) - p.n
}
