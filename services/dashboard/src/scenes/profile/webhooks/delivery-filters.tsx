import { NativeSelect, Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../../common/fleet/queries.ts';
import { type DeliveryFilter, useNotificationTypes } from './queries.ts';

const statuses = ['pending', 'succeeded', 'failed', 'skipped', 'canceled'] as const;
const spansHours = [1, 24, 168, 720] as const;
const maxOptions = 50;

interface DeliveryFiltersProps {
  readonly filter: DeliveryFilter;
  readonly onChange: (filter: DeliveryFilter) => void;
}

/** Shows the filters of a list of deliveries: status, type, vehicle and time span. */
export function DeliveryFilters({ filter, onChange }: DeliveryFiltersProps) {
  const { t } = useTranslation('profile');
  const types = useNotificationTypes();
  const vehicles = useVehicles();
  const change = (part: Partial<DeliveryFilter>): void => onChange({ ...filter, ...part, offset: 0 });
  const any = t('webhooks.any');
  return (
    <div className="delivery-filters" role="search" aria-label={t('webhooks.filters')}>
      <NativeSelect
        label={t('webhooks.statusFilter')}
        data={[
          { value: '', label: any },
          ...statuses.map((value) => ({ value, label: t(`webhooks.delivery.${value}`) })),
        ]}
        value={filter.status}
        onChange={({ currentTarget }) => change({ status: currentTarget.value as DeliveryFilter['status'] })}
      />
      <NativeSelect
        label={t('webhooks.typeFilter')}
        data={[
          { value: '', label: any },
          ...(types.data ?? []).map(({ type, title }) => ({ value: type, label: title })),
        ]}
        value={filter.type}
        onChange={({ currentTarget }) => change({ type: currentTarget.value })}
      />
      <Select
        label={t('webhooks.vehicleFilter')}
        placeholder={any}
        data={(vehicles.data ?? []).flatMap(({ imei, vehicle_no: label }) =>
          imei === null ? [] : [{ value: imei, label }],
        )}
        value={filter.imei === '' ? null : filter.imei}
        onChange={(imei) => change({ imei: imei ?? '' })}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': t('webhooks.clear') }}
        limit={maxOptions}
      />
      <NativeSelect
        label={t('webhooks.spanFilter')}
        data={spansHours.map((hours) => ({ value: String(hours), label: t('webhooks.lastHours', { hours }) }))}
        value={String(filter.hours)}
        onChange={({ currentTarget }) => change({ hours: Number(currentTarget.value) })}
      />
    </div>
  );
}
