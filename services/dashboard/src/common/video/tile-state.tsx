import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat, useNow } from '../format/preferences-context.ts';
import { useVehicle } from '../live/live-context.ts';
import { useSession } from '../session/session-context.ts';
import { formatElapsed } from './format-elapsed.ts';
import type { StreamPhase, StreamType, VideoFailure, VideoState } from './video-state.ts';

interface TileStateProps {
  readonly state: VideoState;
  readonly vehicleId: number;
  readonly channelId: number;
  readonly streamType: StreamType;
  readonly onResume: () => void;
  readonly onSubStream: () => void;
  readonly onCancel: (() => void) | undefined;
}

const steps = { waking: 1, requested: 2, connecting: 3, streaming: 3 } as const satisfies Record<StreamPhase, number>;

/** Says why a tile shows no live picture, and what to do. */
export function TileState(props: TileStateProps) {
  const { state, onResume } = props;
  const { t } = useTranslation('video');
  const format = useFormat();
  switch (state.kind) {
    case 'playing':
      return null;
    case 'failed':
      return <FailedState {...props} failure={state} />;
    case 'parked':
    case 'ended': {
      const text = state.kind === 'ended' ? t('ended') : t(`parked.${state.reason}`);
      return (
        <Shell picture={state.picture} buttons={<Action label={t('action.resume')} onClick={onResume} />}>
          <strong>{text}</strong>
          {state.picture === null ? null : <small>{t('lastPictureAt', { time: format.exact(state.atMs) })}</small>}
        </Shell>
      );
    }
    default:
      return <ProgressState {...props} />;
  }
}

function ProgressState({ state, onResume, onCancel, onSubStream, streamType }: TileStateProps) {
  const { t } = useTranslation('video');
  const nowMs = useNow();
  const time = 'sinceMs' in state ? formatElapsed(nowMs - state.sinceMs) : '';
  const isWeak = state.kind === 'stalled' || state.kind === 'retrying';
  const texts: Partial<Record<VideoState['kind'], () => string>> = {
    queued: () => t('state.queued', { count: state.kind === 'queued' ? state.ahead : 0 }),
    starting: () => {
      const phase = (state.kind === 'starting' && state.phase) || 'waking';
      return t(`phase.${phase}`, { time, step: steps[phase] });
    },
    stalled: () => t('state.stalled', { time }),
    retrying: () => t('state.retrying', { attempt: state.kind === 'retrying' ? state.attempt : 0 }),
  };
  return (
    <Shell
      isCovering={!isWeak}
      buttons={
        <>
          {isWeak ? <Action label={t('action.now')} onClick={onResume} /> : null}
          {isWeak && streamType === 'HIGH' ? <Action label={t('action.subStream')} onClick={onSubStream} /> : null}
          {onCancel === undefined || state.kind === 'stopped' ? null : (
            <Action label={t(isWeak ? 'action.stop' : 'common:action.cancel')} onClick={onCancel} />
          )}
        </>
      }
    >
      <span>{texts[state.kind]?.() ?? t('state.stopped')}</span>
    </Shell>
  );
}

const retryable: readonly VideoFailure[] = ['offline', 'asleep', 'refused', 'busy', 'limit', 'lost'];

function FailedState({
  failure: { reason, message, code },
  vehicleId,
  channelId,
  streamType,
  onResume,
  onSubStream,
}: TileStateProps & { readonly failure: Extract<VideoState, { kind: 'failed' }> }) {
  const { t } = useTranslation('video');
  const format = useFormat();
  const vehicle = useVehicle(vehicleId);
  const [hasPicture, setHasPicture] = useState(false);
  const isAway = reason === 'offline' || reason === 'asleep';
  const sinceMs = reason === 'offline' && vehicle?.state === 'offline' ? vehicle.sinceMs : null;
  const title = sinceMs === null ? t(`failure.${reason}`) : t('offlineSince', { time: format.dateTime(sinceMs) });
  return (
    <Shell
      buttons={
        <>
          {retryable.includes(reason) ? <Action label={t('common:failure.retry')} onClick={onResume} /> : null}
          {streamType === 'HIGH' && !isAway && reason !== 'forbidden' ? (
            <Action label={t('action.subStream')} onClick={onSubStream} />
          ) : null}
          {isAway && !hasPicture ? (
            <Action label={t('action.lastPicture')} onClick={() => setHasPicture(true)} />
          ) : null}
          {isAway ? (
            <Link to="/vehicles/$vehicleId/$tab" params={{ vehicleId: String(vehicleId), tab: 'commands' }}>
              {t('action.queue')}
            </Link>
          ) : null}
        </>
      }
    >
      <strong>{title}</strong>
      {message === '' ? null : <small>{code === null ? message : `${message} (${code})`}</small>}
      {reason === 'unsupported' ? <small>{t('browsers')}</small> : null}
      {hasPicture ? <LastPicture vehicleId={vehicleId} channelId={channelId} /> : null}
    </Shell>
  );
}

/** Shows the newest stored picture of the camera, with its time. */
function LastPicture({ vehicleId, channelId }: { vehicleId: number; channelId: number }) {
  const { t } = useTranslation('video');
  const format = useFormat();
  const { api } = useSession();
  const picture = useQuery({
    queryKey: ['listDashcamMedia', vehicleId, 'last', channelId],
    queryFn: async () => {
      const query = { kind: 'image' as const, channel_id: channelId, limit: 1 };
      const params = { path: { vehicleId }, query };
      return (await api.GET('/api/vehicles/{vehicleId}/list-dashcam-media', { params })).data?.data[0] ?? null;
    },
  });
  if (picture.isPending) return <small>{t('common:loading.title')}</small>;
  if (picture.isError || picture.data === null) return <small>{t('noPicture')}</small>;
  const time = format.exact(Date.parse(picture.data.taken_at ?? picture.data.created_at));
  return (
    <figure className="tile-last">
      <img src={picture.data.url} alt={t('lastPictureAt', { time })} />
      <figcaption>{t('lastPictureAt', { time })}</figcaption>
    </figure>
  );
}

function Action({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button size="compact-sm" variant="default" onClick={onClick}>
      {label}
    </Button>
  );
}

/** Shows text and buttons over the tile, above the last picture if there is one. */
function Shell({
  children,
  buttons,
  picture = null,
  isCovering = true,
}: {
  children: ReactNode;
  buttons: ReactNode;
  picture?: string | null;
  isCovering?: boolean;
}) {
  return (
    <div className="tile-state" data-covering={isCovering}>
      {picture === null ? null : <img className="tile-still" src={picture} alt="" />}
      <div className="tile-text" role="status">
        {children}
      </div>
      <Group justify="center" gap={6}>
        {buttons}
      </Group>
    </div>
  );
}
