import { type RefObject, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { attentionMonitor } from '../../../common/video/attention.ts';
import { formatElapsed } from '../../../common/video/format-elapsed.ts';
import { GuestVideo, type GuestVideoState, maxRetries } from '../guest-video.ts';
import { openSharedStream } from '../share-api.ts';
import type { Guest } from '../shared-view.ts';
import { useClock } from '../use-clock.ts';

interface LiveVideoProps {
  readonly guest: Guest;
  readonly channels: readonly number[];
}

/** Offers the cameras that the link includes, and plays one of them after a click. */
export function LiveVideo({ guest, channels }: LiveVideoProps) {
  const { t } = useTranslation('share');
  const [channelId, setChannelId] = useState<number | null>(null);
  if (channels.length === 0) return null;
  return (
    <section className="share-video" aria-label={t('video.title')}>
      {channelId === null ? null : (
        <Camera key={channelId} guest={guest} channelId={channelId} onClose={() => setChannelId(null)} />
      )}
      <div className="share-cameras">
        {channels
          .filter((id) => id !== channelId)
          .map((id) => (
            <button key={id} type="button" className="share-button" onClick={() => setChannelId(id)}>
              {channels.length === 1 ? t('video.watch') : t('video.watchCamera', { channel: id })}
            </button>
          ))}
      </div>
      {channelId === null ? <p className="share-hint">{t('video.dataHint')}</p> : null}
    </section>
  );
}

interface CameraProps {
  readonly guest: Guest;
  readonly channelId: number;
  readonly onClose: () => void;
}

function Camera({ guest, channelId, onClose }: CameraProps) {
  const { t } = useTranslation('share');
  const video = useRef<HTMLVideoElement>(null);
  const [isMuted, setIsMuted] = useState(true);
  const { state, start } = useGuestVideo(video, { guest, channelId });
  return (
    <div className="share-camera">
      <div className="share-picture">
        <video ref={video} muted={isMuted} playsInline aria-label={t('video.camera', { channel: channelId })} />
        <VideoNotice state={state} onStart={start} />
      </div>
      <div className="share-cameras">
        <button type="button" className="share-quiet" onClick={() => setIsMuted(!isMuted)}>
          {t(isMuted ? 'video.soundOn' : 'video.soundOff')}
        </button>
        <button type="button" className="share-quiet" onClick={() => void video.current?.requestFullscreen()}>
          {t('video.fullScreen')}
        </button>
        <button type="button" className="share-quiet" onClick={onClose}>
          {t('video.close')}
        </button>
      </div>
    </div>
  );
}

/** Plays the camera while the component exists and somebody watches. */
function useGuestVideo(
  video: RefObject<HTMLVideoElement | null>,
  { guest, channelId }: Omit<CameraProps, 'onClose'>,
): { readonly state: GuestVideoState | null; readonly start: () => void } {
  const [state, setState] = useState<GuestVideoState | null>(null);
  const session = useRef<GuestVideo | null>(null);
  useEffect(() => {
    if (video.current === null) return undefined;
    const created = new GuestVideo(video.current, {
      openStream: () => openSharedStream(guest.slug, channelId, guest.getTicket()),
      onState: setState,
    });
    session.current = created;
    created.start();
    const unsubscribeFromStreams = guest.subscribeToStreams((change) => {
      if (change.channel_id === channelId && change.kind === 'live') created.onStreamChange(change);
    });
    const unsubscribe = attentionMonitor.subscribe((attention) => {
      if (attention === 'present') created.unpark();
      else created.park(attention);
    });
    return () => {
      unsubscribe();
      unsubscribeFromStreams();
      created.stop();
    };
  }, [video, guest, channelId]);
  return { state, start: () => session.current?.start() };
}

/** Says why there is no picture, and offers the next step. */
function VideoNotice({ state, onStart }: { readonly state: GuestVideoState | null; readonly onStart: () => void }) {
  const { t } = useTranslation('share');
  if (state === null || state.kind === 'playing') return null;
  return (
    <div className="share-video-notice" role="status">
      <NoticeText state={state} />
      {state.kind === 'failed' && state.fault !== 'forbidden' && state.fault !== 'unsupported' ? (
        <button type="button" className="share-quiet" onClick={onStart}>
          {t('common:failure.retry')}
        </button>
      ) : null}
      {state.kind === 'parked' ? (
        <button type="button" className="share-quiet" onClick={onStart}>
          {t('video.resume')}
        </button>
      ) : null}
    </div>
  );
}

function NoticeText({ state }: { readonly state: GuestVideoState }) {
  const { t } = useTranslation('share');
  const nowMs = useClock();
  if (state.kind === 'connecting')
    return <span>{t('video.connecting', { time: formatElapsed(Math.max(0, nowMs - state.sinceMs)) })}</span>;
  if (state.kind === 'retrying')
    return <span>{t('video.retrying', { attempt: state.attempt, count: maxRetries })}</span>;
  if (state.kind === 'failed') return <span>{t(`video.failed.${state.fault}`)}</span>;
  return <span>{state.kind === 'parked' ? t(`video.parked.${state.reason}`) : t('video.stalled')}</span>;
}
