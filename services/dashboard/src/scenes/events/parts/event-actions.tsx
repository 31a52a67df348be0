import { Button, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useRequestClip } from '../../../common/downloads/queries.ts';
import type { EventRecord } from '../../../common/events/event-record.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { useVehicle } from '../../../common/live/live-context.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { readNumber } from '../model.ts';

const clipMs = 15_000;

/** Shows what to do about an event: live video, the day, a clip, sharing and deliveries. */
export function EventActions({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  const format = useFormat();
  const can = useCan();
  const { vehicle_id: vehicleId, timestamp } = event;
  const vehicle = useVehicle(vehicleId);
  const channel = readNumber(event, 'channel') ?? readNumber(event, 'channel_id') ?? vehicle?.channelIds[0] ?? 1;
  const link = (to: string, label: string) => (
    <Button size="xs" variant="default" component={Link} to={to}>
      {label}
    </Button>
  );
  return (
    <Group gap="sm">
      {link(`/map?vehicle=${vehicleId}`, t('onMap'))}
      {link(
        `/vehicles/${vehicleId}/day/event?t=${Math.floor(timestamp / 1_000)}`,
        t('dayAt', { time: format.clock(timestamp) }),
      )}
      {can('video') ? link(`/video?tiles=${vehicleId}.${channel}`, t('live')) : null}
      {can('video') ? <RequestClip vehicleId={vehicleId} channelId={channel} timeMs={timestamp} /> : null}
      {can('sharing') ? link(`/vehicles/${vehicleId}/sharing`, t('share')) : null}
      {can('webhooks') ? link('/profile/webhooks', t('deliveries')) : null}
    </Group>
  );
}

interface RequestClipProps {
  readonly vehicleId: number;
  readonly channelId: number;
  readonly timeMs: number;
}

/** Requests the seconds around the event from the camera. */
function RequestClip({ vehicleId, channelId, timeMs }: RequestClipProps) {
  const { t } = useTranslation('events');
  const request = useRequestClip();
  return (
    <>
      <Button
        size="xs"
        variant="default"
        loading={request.isPending}
        disabled={request.isSuccess}
        onClick={() => request.mutate({ vehicleId, channelId, fromMs: timeMs - clipMs, toMs: timeMs + clipMs })}
      >
        {t('requestClip')}
      </Button>
      {request.isSuccess ? (
        <Text role="status" size="sm">
          {t('clipRequested')} <Link to="/media">{t('openMedia')}</Link>
        </Text>
      ) : null}
      {request.isError ? <Failure error={request.error} /> : null}
    </>
  );
}
