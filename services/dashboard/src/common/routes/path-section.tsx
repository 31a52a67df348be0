import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../fleet/queries.ts';
import { useFormat } from '../format/preferences-context.ts';
import { lengthM, type Shape } from '../map/shapes.ts';
import { Failure } from '../ui/states.tsx';
import type { RouteForm } from './model.ts';
import { useGenerateRoute, useSnap } from './queries.ts';

interface PathSectionProps {
  readonly form: UseFormReturnType<RouteForm>;
  readonly shape: Shape | null;
}

/** The path through the waypoints: matched to roads, generated from a vehicle, or drawn by the server. */
export function PathSection({ form, shape }: PathSectionProps) {
  const { t } = useTranslation('routes');
  const format = useFormat();
  const snap = useSnap((path) => form.setFieldValue('path', path));
  const { path, profile } = form.values;
  const count = snap.data?.points.filter(({ matched }) => matched).length ?? 0;
  return (
    <section aria-label={t('path')}>
      <h3>{t('path')}</h3>
      <Text role="status">
        {path === null
          ? t('pathByServer')
          : t('pathOf', { distance: format.distance(lengthM(path) / 1_000), count: path.length })}
      </Text>
      {snap.isSuccess ? <Text size="sm">{t('snapped', { count, total: snap.data?.points.length ?? 0 })}</Text> : null}
      {snap.isError ? <Failure error={snap.error} /> : null}
      <Group gap="sm">
        <Button
          size="xs"
          variant="default"
          disabled={shape === null}
          loading={snap.isPending}
          onClick={() => snap.mutate({ positions: shape?.positions ?? [], profile })}
        >
          {t('snap')}
        </Button>
        <Button size="xs" variant="default" disabled={path === null} onClick={() => form.setFieldValue('path', null)}>
          {t('byServer')}
        </Button>
      </Group>
      <FromVehicle form={form} shape={shape} />
    </section>
  );
}

/** Generates the path from the position of a vehicle to the last waypoint or to an address. */
function FromVehicle({ form, shape }: PathSectionProps) {
  const { t } = useTranslation('routes');
  const format = useFormat();
  const { data: vehicles = [] } = useVehicles();
  const [vehicleId, setVehicleId] = useState('');
  const [address, setAddress] = useState('');
  const generate = useGenerateRoute((path) => form.setFieldValue('path', path));
  const destination = address.trim() === '' ? shape?.positions.at(-1) : address.trim();
  return (
    <details>
      <summary>{t('fromVehicle')}</summary>
      <NativeSelect
        label={t('vehicle')}
        data={[
          { value: '', label: '–' },
          ...vehicles.map(({ id, vehicle_no: no }) => ({ value: String(id), label: no })),
        ]}
        value={vehicleId}
        onChange={({ currentTarget }) => setVehicleId(currentTarget.value)}
      />
      <TextInput
        label={t('address')}
        description={t('addressHint')}
        maxLength={200}
        value={address}
        onChange={({ currentTarget }) => setAddress(currentTarget.value)}
      />
      {generate.isError ? <Failure error={generate.error} /> : null}
      {generate.data === undefined ? null : (
        <Text role="status">
          {t('generated', {
            distance: format.distance(generate.data.distance_m / 1_000),
            time: format.dateTime(Date.parse(generate.data.eta)),
          })}
        </Text>
      )}
      <Button
        mt="sm"
        size="xs"
        variant="default"
        disabled={vehicleId === '' || destination === undefined}
        loading={generate.isPending}
        onClick={() => {
          if (destination !== undefined) generate.mutate({ vehicleId: Number(vehicleId), destination });
        }}
      >
        {t('generate')}
      </Button>
    </details>
  );
}
