import { useEffect } from 'react';
import type { Playhead } from '../../../common/timeline/playhead.ts';

const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('input, textarea, select, button, a, [role=slider], [role=menu]') !== null;

const stepMs = 10_000;
const longStepMs = 60_000;

// Space plays and pauses; arrows move by ten seconds, with Shift by a minute. Controls keep their own keys.
export function useReplayKeys(playhead: Playhead): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const isSlider = event.target instanceof Element && event.target.role === 'slider';
      if (event.key === ' ' && (isSlider || !isControl(event.target))) {
        if (playhead.state.isPlaying) playhead.pause();
        else playhead.play();
      } else if (!isControl(event.target) && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
        const step = event.shiftKey ? longStepMs : stepMs;
        playhead.seek(playhead.state.timeMs + (event.key === 'ArrowLeft' ? -step : step));
      } else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [playhead]);
}
