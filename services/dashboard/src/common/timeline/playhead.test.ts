import { describe, expect, it } from '@jest/globals';
import { Playhead } from './playhead.ts';

const span = { fromMs: 1_000, toMs: 61_000 };

describe('the playhead', () => {
  it('advances by its rate while it plays, and pauses at the end of the day', () => {
    const playhead = new Playhead(span, 1_000);
    playhead.advance(500);
    expect(playhead.state.timeMs).toBe(1_000);
    playhead.play();
    playhead.setRate(4);
    playhead.advance(500);
    expect(playhead.state.timeMs).toBe(3_000);
    playhead.advance(1_000_000);
    expect(playhead.state).toMatchObject({ timeMs: 61_000, isPlaying: false });
    playhead.play();
    expect(playhead.state.isPlaying).toBe(false);
  });

  it('follows the clock of a video instead of its own', () => {
    const playhead = new Playhead(span, 1_000);
    playhead.play();
    playhead.follow(9_000);
    expect(playhead.state.timeMs).toBe(1_000);
    playhead.setSource('video');
    playhead.advance(500);
    playhead.follow(9_000);
    expect(playhead.state.timeMs).toBe(9_000);
  });

  it('counts seeks and stays within the day', () => {
    const playhead = new Playhead(span, 0);
    let notices = 0;
    const unsubscribe = playhead.subscribe(() => (notices += 1));
    playhead.seek(999_999);
    expect(playhead.state).toMatchObject({ timeMs: 61_000, seeks: 1 });
    unsubscribe();
    playhead.seek(0);
    expect([playhead.state.timeMs, notices]).toEqual([1_000, 1]);
  });
});
