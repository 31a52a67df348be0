import { Badge, Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Age } from '../../../common/ui/age.tsx';
import { ListStates } from '../../../common/ui/list-states.tsx';
import { Pages } from '../../../common/ui/pages.tsx';
import { Empty } from '../../../common/ui/states.tsx';
import { type MiningDevice, type MiningStatus, miningStatuses, pageSize, useMiningDevices } from '../queries.ts';
import { ClearMiningData } from './clear-mining-data.tsx';
import { MiningEditor } from './mining-editor.tsx';

/** Lists devices under a mining permit, whose positions a partner reports. */
export function MiningTab() {
  const { t } = useTranslation('devices');
  const [filter, setFilter] = useState<MiningFilter>({ text: '', status: '' });
  const [page, setPage] = useState(1);
  const [edited, setEdited] = useState<MiningDevice | 'new' | null>(null);
  const devices = useMiningDevices({ ...filter, page });
  const isFiltered = filter.text !== '' || filter.status !== '';
  return (
    <section aria-label={t('tab.mining')}>
      <Group justify="space-between" align="flex-end" mb="sm">
        <MiningFilters
          filter={filter}
          onChange={(next) => {
            setFilter({ ...filter, ...next });
            setPage(1);
          }}
        />
        <Group gap="sm">
          <ClearMiningData />
          <Button onClick={() => setEdited('new')}>{t('mining.add')}</Button>
        </Group>
      </Group>
      <ListStates
        query={devices}
        items={devices.data?.data}
        empty={
          <Empty title={t(isFiltered ? 'mining.noMatch' : 'mining.empty')}>
            {isFiltered ? null : <p>{t('mining.emptyText')}</p>}
          </Empty>
        }
      >
        {(items) => (
          <>
            <MiningTable devices={items} onEdit={setEdited} />
            <Pages
              page={page}
              total={devices.data?.meta.pagination.total ?? 0}
              pageSize={pageSize}
              onChange={setPage}
            />
          </>
        )}
      </ListStates>
      {edited === null ? null : (
        <MiningEditor device={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />
      )}
    </section>
  );
}

interface MiningFilter {
  readonly text: string;
  readonly status: '' | MiningStatus;
}

interface MiningFiltersProps {
  readonly filter: MiningFilter;
  readonly onChange: (next: Partial<MiningFilter>) => void;
}

function MiningFilters({ filter, onChange }: MiningFiltersProps) {
  const { t } = useTranslation('devices');
  return (
    <Group gap="sm">
      <TextInput
        type="search"
        w={300}
        aria-label={t('mining.search')}
        placeholder={t('mining.search')}
        value={filter.text}
        onChange={({ currentTarget }) => onChange({ text: currentTarget.value })}
      />
      <NativeSelect
        aria-label={t('mining.field.status')}
        data={[
          { value: '', label: t('mining.allStatuses') },
          ...miningStatuses.map((value) => ({ value, label: t(`mining.status.${value}`) })),
        ]}
        value={filter.status}
        onChange={({ currentTarget }) => onChange({ status: currentTarget.value as MiningFilter['status'] })}
      />
    </Group>
  );
}

interface MiningTableProps {
  readonly devices: readonly MiningDevice[];
  readonly onEdit: (device: MiningDevice) => void;
}

function MiningTable({ devices, onEdit }: MiningTableProps) {
  const { t } = useTranslation('devices');
  return (
    <div className="table-scroll">
      <table className="data" aria-label={t('tab.mining')}>
        <thead>
          <tr>
            {(['imei', 'vehicle_no', 'permit_no', 'site', 'owner_name', 'status'] as const).map((field) => (
              <th key={field}>{t(`mining.field.${field}`)}</th>
            ))}
            <th>{t('mining.lastSeen')}</th>
            <th>{t('mining.positions')}</th>
            <th>{t('actions')}</th>
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <tr key={device.id}>
              <td>{device.imei}</td>
              <td>{device.vehicle_no ?? '–'}</td>
              <td>{device.permit_no ?? '–'}</td>
              <td>{device.site ?? '–'}</td>
              <td>{device.owner_name ?? '–'}</td>
              <td>
                <Badge variant="default">{t(`mining.status.${device.status}`)}</Badge>
              </td>
              <td>{device.last_seen === null ? '–' : <Age timeMs={Date.parse(device.last_seen)} />}</td>
              <td>{device.data_count}</td>
              <td>
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('editOf', { name: device.imei })}
                  onClick={() => onEdit(device)}
                >
                  {t('edit')}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
