import { Button, CloseButton, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { useCan, useSession } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { StateMark } from '../../../common/ui/marks.tsx';
import type { VehicleRow } from '../model.ts';

interface VehiclePanelProps {
  readonly row: VehicleRow;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
  readonly onClose: () => void;
}

/** Facts and actions of the selected vehicle. */
export function VehiclePanel({ row, isFollowing, onFollow, onClose }: VehiclePanelProps) {
  const { t } = useTranslation('map');
  const format = useFormat();
  const can = useCan();
  const { position } = row;
  return (
    <section className="map-panel card" aria-label={row.name}>
      <Group justify="space-between" wrap="nowrap">
        <h2>{row.name}</h2>
        <CloseButton aria-label={t('common:action.close')} onClick={onClose} />
      </Group>
      <Stack gap="xs">
        <span>
          <StateMark state={row.state} course={position?.course ?? 0} /> {t(`common:state.${row.state}`)}
          {row.state === 'moving' && position !== undefined ? ` ${format.speed(position.speed)}` : ''}
        </span>
        <span>{row.vehicleNo}</span>
        {position === undefined ? (
          <span>{t('noPosition')}</span>
        ) : (
          <>
            <span>
              {t('fix')} <Age timeMs={position.timestamp} />
              {position.isValid ? '' : `, ${t('noFix')}`}
            </span>
            <Address vehicleId={row.id} latitude={position.latitude} longitude={position.longitude} />
          </>
        )}
      </Stack>
      <Group mt="md" gap="sm">
        <Button size="xs" component={Link} to={`/vehicles/${row.id}`}>
          {t('open')}
        </Button>
        {can('video') ? (
          <Button size="xs" variant="default" component={Link} to={`/video?tiles=${row.id}.1`}>
            {t('live')}
          </Button>
        ) : null}
        <Button
          size="xs"
          variant={isFollowing ? 'filled' : 'default'}
          aria-pressed={isFollowing}
          onClick={() => onFollow(!isFollowing)}
        >
          {t('follow')}
        </Button>
      </Group>
    </section>
  );
}

/** Shows the address of the position at which the panel was opened; requests it once. */
function Address(props: { vehicleId: number; latitude: number; longitude: number }) {
  const { api } = useSession();
  const { data } = useQuery({
    queryKey: ['reverseGeocode', props.vehicleId],
    queryFn: async () => {
      const query = { latitude: props.latitude, longitude: props.longitude };
      return (await api.GET('/api/devices/reverse-geocode', { params: { query } })).data?.data ?? null;
    },
  });
  return data === undefined || data === null ? null : <span>{data.address}</span>;
}
