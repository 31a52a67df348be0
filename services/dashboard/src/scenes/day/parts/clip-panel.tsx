import { Button, Group, NativeSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Download } from '../../../common/downloads/download.ts';
import { DownloadRow } from '../../../common/downloads/download-row.tsx';
import { useRequestClip } from '../../../common/downloads/queries.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useCan } from '../../../common/session/session-context.ts';
import type { Playhead } from '../../../common/timeline/playhead.ts';
import { formatClockTime, type TimeSpan } from '../../../common/timeline/time-scale.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type Channel, toClipSpan } from '../clips.ts';

interface ClipPanelProps {
  readonly vehicle: Vehicle;
  readonly channels: readonly Channel[];
  readonly channelId: number;
  readonly playhead: Playhead;
  readonly selection: TimeSpan | null;
  readonly isSelecting: boolean;
  readonly clips: readonly Download[];
  /** Queries the cameras for their recordings of the day. */
  readonly refresh: { readonly isPending: boolean; readonly error: Error | null; readonly mutate: () => void };
  readonly onSelecting: (isSelecting: boolean) => void;
  readonly onSelect: (span: TimeSpan | null) => void;
  readonly onChannel: (channelId: number) => void;
}

/** Chooses a span of a camera and requests it as a clip; shows the progress of the clips of the day. */
export function ClipPanel(props: ClipPanelProps) {
  const { t } = useTranslation('day');
  const { vehicle, clips, refresh } = props;
  const can = useCan();
  return (
    <section className="card" aria-label={t('clips')}>
      <h2>{t('clips')}</h2>
      <Button size="xs" variant="default" mb="sm" loading={refresh.isPending} onClick={() => refresh.mutate()}>
        {t('queryCamera')}
      </Button>
      {refresh.error === null ? null : <Failure error={refresh.error} />}
      {can('commands') ? <ClipForm {...props} /> : null}
      <ul className="row-list">
        {clips.map((clip) => {
          const { fromMs, toMs } = toClipSpan(clip);
          const times = [fromMs, toMs].map((timeMs) => formatClockTime(timeMs, vehicle.timezone));
          const name = t('clipName', { channel: clip.channel, from: times[0], to: times[1] });
          return (
            <li key={clip.id} aria-label={name}>
              <button type="button" className="day-time" onClick={() => props.playhead.seek(fromMs)}>
                {name}
              </button>
              <DownloadRow download={clip} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function ClipForm({
  vehicle,
  channels,
  channelId,
  playhead,
  selection,
  isSelecting,
  onSelecting,
  onSelect,
  onChannel,
}: ClipPanelProps) {
  const { t } = useTranslation('day');
  const request = useRequestClip();
  const clock = (timeMs: number): string => formatClockTime(timeMs, vehicle.timezone);
  const setStart = (): void => {
    const fromMs = playhead.state.timeMs;
    onSelect({ fromMs, toMs: Math.max(selection?.toMs ?? 0, fromMs) });
  };
  const setEnd = (): void => {
    const toMs = playhead.state.timeMs;
    onSelect({ fromMs: Math.min(selection?.fromMs ?? toMs, toMs), toMs });
  };
  const isEmpty = selection === null || selection.toMs <= selection.fromMs;
  return (
    <>
      <Group gap="sm" align="end">
        <NativeSelect
          size="xs"
          label={t('camera')}
          value={String(channelId)}
          data={channels.map(({ id, name }) => ({ value: String(id), label: name }))}
          onChange={({ currentTarget }) => onChannel(Number(currentTarget.value))}
        />
        <Button size="xs" variant="default" onClick={setStart}>
          {t('startHere')}
        </Button>
        <Button size="xs" variant="default" onClick={setEnd}>
          {t('endHere')}
        </Button>
        <Button
          size="xs"
          variant={isSelecting ? 'filled' : 'default'}
          aria-pressed={isSelecting}
          onClick={() => onSelecting(!isSelecting)}
        >
          {t('drag')}
        </Button>
        <Button
          size="xs"
          disabled={isEmpty}
          loading={request.isPending}
          onClick={() =>
            selection !== null &&
            request.mutate({ vehicleId: vehicle.id, channelId, ...selection }, { onSuccess: () => onSelect(null) })
          }
        >
          {t('request')}
        </Button>
      </Group>
      <p className="day-hint">
        {isEmpty
          ? t('selectHint')
          : t('selected', {
              from: clock(selection.fromMs),
              to: clock(selection.toMs),
              seconds: Math.round((selection.toMs - selection.fromMs) / 1_000),
            })}{' '}
        {t('dataHint')}
      </p>
      {request.isError ? <Failure error={request.error} /> : null}
    </>
  );
}
