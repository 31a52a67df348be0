import { Button, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { stateOf } from '../captures/capture-entry.ts';
import { type CaptureActivity, useRequestCapture } from '../captures/queries.ts';
import { useVehicle } from '../live/live-context.ts';
import { Age } from '../ui/age.tsx';

interface CaptureListProps {
  readonly activities: readonly CaptureActivity[];
  readonly onClear: () => void;
  readonly onClose: () => void;
}

/** Lists pictures and clips that are being made or have ended. */
export function CaptureList({ activities, onClear, onClose }: CaptureListProps) {
  const { t } = useTranslation();
  if (activities.length === 0) return null;
  const hasEnded = activities.some(({ entry, capture }) => stateOf(entry, capture) !== 'pending');
  return (
    <section aria-label={t('activity.captures')}>
      <Group justify="space-between">
        <Text component="h3" fw={600}>
          {t('activity.captures')}
        </Text>
        {hasEnded ? (
          <Button size="compact-sm" variant="default" onClick={onClear}>
            {t('activity.clearCaptures')}
          </Button>
        ) : null}
      </Group>
      <ul className="row-list">
        {activities.map((activity) => (
          <CaptureRow key={activity.entry.key} {...activity} onClose={onClose} />
        ))}
      </ul>
    </section>
  );
}

/** Shows one picture or clip: its state, its files, and a button that requests it again after a failure. */
function CaptureRow({ entry, capture, onClose }: CaptureActivity & { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const vehicle = useVehicle(entry.vehicleId);
  const again = useRequestCapture();
  const state = stateOf(entry, capture);
  const reason = entry.refusal ?? capture?.error ?? null;
  const { key, vehicleId, channelId, kind, seconds } = entry;
  return (
    <li>
      <Link to="/vehicles/$vehicleId/media" params={{ vehicleId: String(vehicleId) }} search={{}} onClick={onClose}>
        {t(`activity.capture.${kind}`, { vehicle: vehicle?.vehicleNo ?? vehicleId, channel: channelId })}
      </Link>
      <span>
        {t(`activity.captureState.${state}`)}
        {state === 'failed' && reason !== null ? `: ${reason}` : ''}
      </span>
      {state === 'failed' ? (
        <Button
          size="compact-sm"
          variant="default"
          loading={again.isPending}
          onClick={() => again.mutate({ key, vehicleId, channelId, kind, seconds })}
        >
          {t('failure.retry')}
        </Button>
      ) : null}
      <small>
        <Age timeMs={entry.requestedAtMs} />
      </small>
    </li>
  );
}
