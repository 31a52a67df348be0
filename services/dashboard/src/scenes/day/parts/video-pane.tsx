import { SegmentedControl } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Download } from '../../../common/downloads/download.ts';
import { DownloadRow } from '../../../common/downloads/download-row.tsx';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { type Playhead, usePlayhead } from '../../../common/timeline/playhead.ts';
import { type Channel, findClipAt, toClipSpan } from '../clips.ts';
import type { Recordings } from '../queries.ts';
import { CameraPlayback } from './camera-playback.tsx';

interface VideoPaneProps {
  readonly vehicle: Vehicle;
  readonly recordings: Recordings | undefined;
  readonly channels: readonly Channel[];
  readonly channelId: number;
  readonly clips: readonly Download[];
  readonly playhead: Playhead;
  readonly onChannel: (channelId: number) => void;
}

/** Shows the video at the playhead: from an uploaded clip, which costs nothing, or from the camera. */
export function VideoPane({ vehicle, recordings, channels, channelId, clips, playhead, onChannel }: VideoPaneProps) {
  const { t } = useTranslation('day');
  const { timeMs } = usePlayhead(playhead);
  const clip = findClipAt(clips, channelId, timeMs);
  const url = clip?.mp4?.url ?? null;
  return (
    <section className="day-video card" aria-label={t('video')}>
      <SegmentedControl
        size="xs"
        aria-label={t('camera')}
        value={String(channelId)}
        data={channels.map(({ id, name }) => ({ value: String(id), label: t('cameraName', { name }) }))}
        onChange={(value) => onChannel(Number(value))}
      />
      {clip !== undefined && url !== null ? (
        <ClipVideo
          key={url}
          url={url}
          startMs={toClipSpan(clip).fromMs}
          endMs={toClipSpan(clip).toMs}
          playhead={playhead}
        />
      ) : clip === undefined ? (
        <CameraPlayback
          key={channelId}
          vehicleId={vehicle.id}
          timeZone={vehicle.timezone}
          channelId={channelId}
          recordings={recordings}
          playhead={playhead}
        />
      ) : (
        <>
          <p className="day-hint">{t('noMp4')}</p>
          <DownloadRow download={clip} />
        </>
      )}
    </section>
  );
}

interface ClipVideoProps {
  readonly url: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly playhead: Playhead;
}

/** Plays an MP4 with the playhead: the clock of the video moves it. */
function ClipVideo({ url, startMs, endMs, playhead }: ClipVideoProps) {
  const { t } = useTranslation('day');
  const video = useRef<HTMLVideoElement>(null);
  const { isPlaying, rate, seeks } = usePlayhead(playhead);

  useEffect(() => {
    playhead.setSource('video');
    return () => playhead.setSource('track');
  }, [playhead]);

  useEffect(() => {
    if (video.current !== null) video.current.currentTime = Math.max(0, playhead.state.timeMs - startMs) / 1_000;
    // Each seek of the user counts.
  }, [playhead, startMs, seeks]);

  useEffect(() => {
    if (video.current === null) return;
    video.current.playbackRate = rate;
    // A video that cannot play leaves the playhead where it is; its error is displayed by the element.
    if (isPlaying) video.current.play().catch(() => playhead.pause());
    else video.current.pause();
  }, [isPlaying, rate, playhead]);

  return (
    <video
      ref={video}
      src={url}
      muted
      playsInline
      aria-label={t('clipPicture')}
      onTimeUpdate={({ currentTarget }) => {
        if (!currentTarget.seeking) playhead.follow(startMs + currentTarget.currentTime * 1_000);
      }}
      // The track continues after the clip.
      onEnded={() => playhead.follow(endMs)}
      onError={() => playhead.setSource('track')}
    />
  );
}
