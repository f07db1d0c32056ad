package sshhost

import (
	"context"
	"sync"
)

// slots limits the sessions that are open at the same moment; the rest wait in order. The
// limit shrinks when the server turns out to allow fewer.
type slots struct {
	mu    sync.Mutex
	limit int
	used  int
	queue []chan struct{}
}

func newSlots(limit int) *slots { return &slots{limit: limit} }

// acquire waits for a free slot.
func (s *slots) acquire(ctx context.Context) error {
	s.mu.Lock()
	if s.used < s.limit {
		s.used++
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		s.leave(turn)
		return ctx.Err()
	}
}

// leave takes turn out of the queue, or gives the slot back when it was given meanwhile.
func (s *slots) leave(turn chan struct{}) {
	s.mu.Lock()
	for i, t := range s.queue {
		if t == turn {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			s.mu.Unlock()
			return
		}
	}
	s.mu.Unlock()
	s.release()
}

// release gives a slot to the next in the queue.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	for s.used < s.limit && len(s.queue) > 0 {
		s.used++
		close(s.queue[0])
		s.queue = s.queue[1:]
	}
}

// refused is called by the holder of a slot whose session the server refused: it gives the
// slot back and lowers the limit to what the server bears. It is false when no other session
// is open, so that waiting is of no use.
func (s *slots) refused() bool {
	s.mu.Lock()
	others := s.used - 1
	if others > 0 && others < s.limit {
		s.limit = others
	}
	s.mu.Unlock()
	s.release()
	return others > 0
}
