import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../../common/session/session-context.ts';
import { AddVehicle } from '../../../common/terminals/add-vehicle.tsx';
import { FindTerminal } from '../../../common/terminals/find-terminal.tsx';
import { Age } from '../../../common/ui/age.tsx';
import { ListStates } from '../../../common/ui/list-states.tsx';
import { Empty } from '../../../common/ui/states.tsx';
import { type UnassignedDevice, useUnassignedDevices } from '../queries.ts';

type Dialog = { readonly kind: 'find' } | { readonly kind: 'claim'; readonly imei: string };

/** Lists terminals that connect and belong to no vehicle. The list follows them live; each becomes a vehicle. */
export function UnassignedTab() {
  const { t } = useTranslation('devices');
  const isAdministrator = useCan()('administration');
  const devices = useUnassignedDevices(isAdministrator);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const mayList = isAdministrator && devices.data !== null;
  return (
    <section aria-label={t('tab.unassigned')}>
      <Group justify="space-between" mb="sm">
        <p>{t(mayList ? 'unassigned.text' : 'unassigned.notListed')}</p>
        <Button variant="default" onClick={() => setDialog({ kind: 'find' })}>
          {t('unassigned.find')}
        </Button>
      </Group>
      {mayList ? (
        <ListStates
          query={devices}
          items={devices.data ?? undefined}
          empty={
            <Empty title={t('unassigned.empty')}>
              <p>{t('unassigned.emptyText')}</p>
            </Empty>
          }
        >
          {(items) => <DeviceTable devices={items} onClaim={(imei) => setDialog({ kind: 'claim', imei })} />}
        </ListStates>
      ) : null}
      {dialog?.kind === 'find' ? (
        <FindTerminal onFound={(imei) => setDialog({ kind: 'claim', imei })} onClose={() => setDialog(null)} />
      ) : null}
      {dialog?.kind === 'claim' ? <AddVehicle imei={dialog.imei} onClose={() => setDialog(null)} /> : null}
    </section>
  );
}

interface DeviceTableProps {
  readonly devices: readonly UnassignedDevice[];
  readonly onClaim: (imei: string) => void;
}

function DeviceTable({ devices, onClaim }: DeviceTableProps) {
  const { t } = useTranslation('devices');
  return (
    <div className="table-scroll">
      <table className="data" aria-label={t('tab.unassigned')}>
        <thead>
          <tr>
            {(['number', 'model', 'plate', 'protocol', 'firstSeen', 'lastSeen', 'connected'] as const).map((column) => (
              <th key={column}>{t(`unassigned.column.${column}`)}</th>
            ))}
            <th>{t('actions')}</th>
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <tr key={device.id}>
              <td>{device.imei}</td>
              <td>{[device.manufacturer, device.model].filter(Boolean).join(' ') || '–'}</td>
              <td>{device.plate ?? '–'}</td>
              <td>{device.protocol ?? '–'}</td>
              <td>
                <Age timeMs={Date.parse(device.first_seen)} />
              </td>
              <td>
                <Age timeMs={Date.parse(device.last_seen)} />
              </td>
              <td>{t(device.connected ? 'unassigned.yes' : 'unassigned.no')}</td>
              <td>
                <Button
                  size="compact-sm"
                  aria-label={t('unassigned.claimOf', { number: device.imei })}
                  onClick={() => onClaim(device.imei)}
                >
                  {t('unassigned.claim')}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
