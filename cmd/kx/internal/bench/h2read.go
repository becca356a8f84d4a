package bench

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/net/http2"
)

// read reads frames until the connection ends.
func (c *conn) read() {
	for {
		frame, err := c.framer.ReadFrame()
		if err == nil {
			err = c.handle(frame)
		}
		var broken http2.StreamError
		if errors.As(err, &broken) {
			if s := c.stream(broken.StreamID); s != nil {
				c.end(s, err)
			}
			continue
		}
		if err != nil {
			c.close(fmt.Errorf("the connection ended: %w", err))
			return
		}
	}
}

func (c *conn) stream(id uint32) *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[id]
}

func (c *conn) handle(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.MetaHeadersFrame:
		c.meta(f)
	case *http2.RSTStreamFrame:
		if s := c.stream(f.StreamID); s != nil {
			c.end(s, fmt.Errorf("the server ended the request: %s", f.ErrCode))
		}
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.WindowUpdateFrame:
		c.mu.Lock()
		if s := c.streams[f.StreamID]; s != nil {
			s.window += int64(f.Increment)
		} else if f.StreamID == 0 {
			c.window += int64(f.Increment)
		}
		c.windows.Broadcast()
		c.mu.Unlock()
	case *http2.PingFrame:
		if !f.IsAck() {
			return c.reply(func() error { return c.framer.WritePing(true, f.Data) })
		}
	case *http2.GoAwayFrame:
		c.goAway(f)
	}
	return nil
}

// data passes a piece of an answer on. Once half of the window is used, it grants the server the same amount again.
func (c *conn) data(f *http2.DataFrame) error {
	length := int64(f.Length)
	s := c.stream(f.StreamID)
	c.unread += length
	connection, single := int64(0), int64(0)
	if c.unread > receiveWindow/2 {
		connection, c.unread = c.unread, 0
	}
	if s != nil {
		data := f.Data()
		s.bytes += int64(len(data))
		if s.unread += length; s.unread > receiveWindow/2 {
			single, s.unread = s.unread, 0
		}
		more := true
		if s.code >= 300 {
			s.said = append(s.said, data[:min(len(data), refusalMost-len(s.said))]...)
		} else if s.sink != nil {
			more = s.sink(data)
		}
		switch {
		case f.StreamEnded():
			c.end(s, nil)
		case !more:
			c.cancel(s)
		}
	}
	if connection == 0 && single == 0 {
		return nil
	}
	return c.reply(func() error {
		var err error
		if connection > 0 {
			err = c.framer.WriteWindowUpdate(0, uint32(connection))
		}
		if single > 0 {
			err = errors.Join(err, c.framer.WriteWindowUpdate(f.StreamID, uint32(single)))
		}
		return err
	})
}

func (c *conn) meta(f *http2.MetaHeadersFrame) {
	s := c.stream(f.StreamID)
	if s == nil {
		return
	}
	if code, err := strconv.Atoi(f.PseudoValue("status")); err == nil && code >= 200 {
		s.code = code
	}
	if f.StreamEnded() {
		c.end(s, nil)
	}
}

func (c *conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
		for _, s := range c.streams {
			s.window += int64(size) - c.initial
		}
		c.initial = int64(size)
	}
	if size, ok := f.Value(http2.SettingMaxFrameSize); ok {
		c.frameSize = int64(size)
	}
	c.windows.Broadcast()
	c.mu.Unlock()
	return c.reply(func() error {
		if size, ok := f.Value(http2.SettingHeaderTableSize); ok {
			c.encoder.SetMaxDynamicTableSizeLimit(size)
		}
		return c.framer.WriteSettingsAck()
	})
}

// goAway keeps the streams that the server has accepted, and ends the others.
func (c *conn) goAway(f *http2.GoAwayFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = true
	for id, s := range c.streams {
		if id > f.LastStreamID {
			c.endLocked(s, errLeaving)
		}
	}
}

// reply writes a frame that the server waits for.
func (c *conn) reply(write func() error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return errors.Join(write(), c.out.Flush())
}
