import { Button, Group } from '@mantine/core';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useNow } from '../../../common/format/preferences-context.ts';
import { type Playhead, usePlayhead } from '../../../common/timeline/playhead.ts';
import { formatClockTime } from '../../../common/timeline/time-scale.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { formatElapsed } from '../../../common/video/format-elapsed.ts';
import { findBytesPerMinute, findRecordingAt, toPlaybackSpan } from '../playback-model.ts';
import type { Recordings } from '../queries.ts';
import { type Playback, type PlaybackState, usePlayback } from '../use-playback.ts';

interface CameraPlaybackProps {
  readonly vehicleId: number;
  readonly timeZone: string;
  readonly channelId: number;
  readonly recordings: Recordings | undefined;
  readonly playhead: Playhead;
}

/** Plays the camera's own recording over the air, after its cost was shown. */
export function CameraPlayback(props: CameraPlaybackProps) {
  const { vehicleId, channelId, recordings, playhead, timeZone } = props;
  const { t } = useTranslation('day');
  const video = useRef<HTMLVideoElement>(null);
  const playback = usePlayback({ vehicleId, channelId, playhead, video });
  const { state } = playback;
  const startAtPlayhead = (takeover = false): void => {
    const { timeMs } = playhead.state;
    void playback.start(toPlaybackSpan(findRecordingAt(recordings, channelId, timeMs), timeMs), takeover);
  };
  return (
    <>
      <video ref={video} muted playsInline hidden={state.kind !== 'playing'} aria-label={t('playback.picture')} />
      {state.kind === 'offered' || state.kind === 'ended' ? (
        <Offer {...props} hasEnded={state.kind === 'ended'} onStart={() => startAtPlayhead()} />
      ) : null}
      {state.kind === 'starting' ? <Starting sinceMs={state.sinceMs} /> : null}
      {state.kind === 'playing' ? <Source state={state} timeZone={timeZone} /> : null}
      {state.kind === 'busy' ? (
        <Busy
          playback={state.playback}
          timeZone={timeZone}
          onWatch={(other) => {
            playhead.seek(Date.parse(other.position));
            playback.watch(other, false);
          }}
          onTakeOver={() => startAtPlayhead(true)}
          onCancel={playback.reset}
        />
      ) : null}
      {state.kind === 'failed' ? <Failure error={state.error} onRetry={() => startAtPlayhead()} /> : null}
    </>
  );
}

function Offer({
  recordings,
  channelId,
  playhead,
  hasEnded,
  onStart,
}: CameraPlaybackProps & { readonly hasEnded: boolean; readonly onStart: () => void }) {
  const { t, i18n } = useTranslation('day');
  const { timeMs } = usePlayhead(playhead);
  const segment = findRecordingAt(recordings, channelId, timeMs);
  const bytes = findBytesPerMinute(segment);
  const size =
    bytes === null
      ? null
      : new Intl.NumberFormat(i18n.language, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 1 }).format(
          bytes / 1_000_000,
        );
  return (
    <div className="day-hint">
      {hasEnded ? <p role="status">{t('playback.ended')}</p> : null}
      <p>{segment === undefined ? t('noVideo') : t('playback.onCamera')}</p>
      <p>{size === null ? t('playback.cost') : t('playback.costPerMinute', { size })}</p>
      <Button size="xs" onClick={onStart}>
        {t('playback.start')}
      </Button>
    </div>
  );
}

function Starting({ sinceMs }: { sinceMs: number }) {
  const { t } = useTranslation('day');
  const nowMs = useNow();
  return (
    <p className="day-hint" role="status">
      {t('playback.starting', { time: formatElapsed(nowMs - sinceMs) })}
    </p>
  );
}

const toTimes = ({ from, to }: Playback, timeZone: string) => ({
  from: formatClockTime(Date.parse(from), timeZone),
  to: formatClockTime(Date.parse(to), timeZone),
});

function Source({ state, timeZone }: { state: Extract<PlaybackState, { kind: 'playing' }>; timeZone: string }) {
  const { t } = useTranslation('day');
  const times = toTimes(state.playback, timeZone);
  const name = state.playback.started_by_name ?? t('playback.anotherUser');
  return (
    <p className="day-source" role="status">
      {state.isOwn ? t('playback.source', times) : t('playback.watching', { ...times, name })}
    </p>
  );
}

interface BusyProps {
  readonly playback: Playback | null;
  readonly timeZone: string;
  readonly onWatch: (playback: Playback) => void;
  readonly onTakeOver: () => void;
  readonly onCancel: () => void;
}

/** Offers a choice while the camera plays another recording: it plays one at a time. */
function Busy({ playback, timeZone, onWatch, onTakeOver, onCancel }: BusyProps) {
  const { t } = useTranslation('day');
  const name = playback?.started_by_name ?? t('playback.anotherUser');
  return (
    <div className="day-hint" role="alert">
      <p>{playback === null ? t('playback.busy') : t('playback.busyWith', { ...toTimes(playback, timeZone), name })}</p>
      <Group gap="xs" justify="center">
        {playback === null ? null : (
          <Button size="xs" onClick={() => onWatch(playback)}>
            {t('playback.watchAlong')}
          </Button>
        )}
        <Button size="xs" variant="default" onClick={onTakeOver}>
          {t('playback.takeOver')}
        </Button>
        <Button size="xs" variant="default" onClick={onCancel}>
          {t('common:action.cancel')}
        </Button>
      </Group>
    </div>
  );
}
