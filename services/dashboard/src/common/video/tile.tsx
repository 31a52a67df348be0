import { ActionIcon, Button, Group } from '@mantine/core';
import { IconCamera, IconMaximize, IconVolume, IconVolumeOff, IconX } from '@tabler/icons-react';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNow } from '../format/preferences-context.ts';
import { useSession } from '../session/session-context.ts';
import { type StreamType, VideoSession, type VideoState } from './video-session.ts';
import './tile.css';

interface VideoTileProps {
  readonly vehicleId: number;
  readonly channelId: number;
  readonly title: string;
  readonly streamType: StreamType;
  readonly isMuted: boolean;
  readonly onMute: (isMuted: boolean) => void;
  readonly onFocus?: () => void;
  readonly onClose?: () => void;
}

/** Plays a camera. Every state has its reason and a next step. */
export function VideoTile(props: VideoTileProps) {
  const { t } = useTranslation('video');
  const video = useRef<HTMLVideoElement>(null);
  const [attempt, setAttempt] = useState(0);
  const state = useVideoSession(video, props, attempt);
  return (
    <section className="tile" aria-label={props.title}>
      <video ref={video} muted={props.isMuted} playsInline aria-label={t('picture', { title: props.title })} />
      <header>
        <strong>{props.title}</strong>
        {state.kind === 'playing' ? <StreamFacts state={state} /> : null}
        {props.onClose === undefined ? null : (
          <ActionIcon variant="subtle" size="sm" aria-label={t('close')} onClick={props.onClose}>
            <IconX size={16} />
          </ActionIcon>
        )}
      </header>
      {state.kind === 'playing' ? null : <TileState state={state} onRetry={() => setAttempt((n) => n + 1)} />}
      {state.kind === 'playing' ? <TileActions {...props} video={video} /> : null}
    </section>
  );
}

/** Runs a session for the camera while the tile is visible. Returns its state. */
function useVideoSession(
  video: RefObject<HTMLVideoElement | null>,
  { vehicleId, channelId, streamType }: VideoTileProps,
  attempt: number,
): VideoState {
  const { api } = useSession();
  const [state, setState] = useState<VideoState>({ kind: 'stopped' });
  useEffect(() => {
    if (video.current === null) return undefined;
    const session = new VideoSession(video.current, { api, vehicleId, channelId, streamType, onState: setState });
    void session.start();
    return () => session.close();
    // `attempt` restarts a failed session.
  }, [api, video, vehicleId, channelId, streamType, attempt]);
  return state;
}

function StreamFacts({ state: { stream } }: { state: Extract<VideoState, { kind: 'playing' }> }) {
  const { t } = useTranslation('video');
  const facts = [t(`type.${stream.stream_type}`), stream.video_codec?.toUpperCase()];
  return <small>{facts.filter((fact) => fact !== undefined).join(' ')}</small>;
}

function TileActions({
  isMuted,
  onMute,
  onFocus,
  title,
  video,
}: VideoTileProps & { video: RefObject<HTMLVideoElement | null> }) {
  const { t } = useTranslation('video');
  return (
    <footer>
      <ActionIcon variant="default" aria-label={t(isMuted ? 'soundOn' : 'soundOff')} onClick={() => onMute(!isMuted)}>
        {isMuted ? <IconVolumeOff size={18} /> : <IconVolume size={18} />}
      </ActionIcon>
      <ActionIcon
        variant="default"
        aria-label={t('snapshot')}
        onClick={() => video.current !== null && savePicture(video.current, title)}
      >
        <IconCamera size={18} />
      </ActionIcon>
      <ActionIcon
        variant="default"
        aria-label={t('fullScreen')}
        onClick={() => void video.current?.requestFullscreen()}
      >
        <IconMaximize size={18} />
      </ActionIcon>
      {onFocus === undefined ? null : (
        <Button variant="default" size="compact-sm" onClick={onFocus}>
          {t('focus')}
        </Button>
      )}
    </footer>
  );
}

/** Downloads the current picture. */
function savePicture(video: HTMLVideoElement, title: string): void {
  const canvas = document.createElement('canvas');
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext('2d')?.drawImage(video, 0, 0);
  const link = document.createElement('a');
  link.download = `${title} ${new Date().toISOString().replaceAll(':', '-')}.png`;
  link.href = canvas.toDataURL('image/png');
  link.click();
}

function TileState({ state, onRetry }: { state: VideoState; onRetry: () => void }) {
  const { t } = useTranslation('video');
  const nowMs = useNow();
  const seconds = 'sinceMs' in state ? Math.max(0, Math.round((nowMs - state.sinceMs) / 1000)) : 0;
  return (
    <div className="tile-state" role="status">
      {state.kind === 'failed' ? (
        <>
          <strong>{t(`failure.${state.reason}`)}</strong>
          {state.message === '' ? null : <small>{state.message}</small>}
          <Group justify="center">
            <Button size="compact-sm" variant="default" onClick={onRetry}>
              {t('common:failure.retry')}
            </Button>
          </Group>
        </>
      ) : (
        <span>{t(`state.${state.kind}`, { seconds, attempt: 'attempt' in state ? state.attempt : 0 })}</span>
      )}
    </div>
  );
}
