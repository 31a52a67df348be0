import { Button, Menu } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../fleet/queries.ts';

const actions = ['sos', 'phone_call', 'fatigue', 'collision', 'sleep', 'refuse', 'disconnect', 'wake'] as const;
type Action = (typeof actions)[number];

/** A terminal of the simulated fleet. */
interface Terminal {
  readonly imei: string;
  readonly is_online: boolean;
}

const queryKey = ['demo', 'terminals'];

async function listTerminals(): Promise<readonly Terminal[]> {
  const response = await fetch('/demo/terminals');
  return response.ok ? ((await response.json()) as { terminals: Terminal[] }).terminals : [];
}

/** Runs an action of a simulated terminal. Returns the reason of a failure. */
async function runAction(imei: string, action: Action): Promise<string | undefined> {
  const response = await fetch(`/demo/terminals/${imei}/${action}`, { method: 'POST' });
  return response.ok ? undefined : ((await response.json()) as { error: string }).error;
}

/** Shows the menu of a local start: makes the simulated vehicles raise alarms, fall asleep or refuse commands. */
export function DemoMenu() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [isOpen, setIsOpen] = useState(false);
  const [result, setResult] = useState('');
  const { data: terminals = [] } = useQuery({ queryKey, queryFn: listTerminals, enabled: isOpen });
  const { data: vehicles = [] } = useVehicles();
  const nameOf = (imei: string): string => vehicles.find((vehicle) => vehicle.imei === imei)?.vehicle_no ?? imei;
  const run = async (imei: string, action: Action): Promise<void> => {
    const error = await runAction(imei, action);
    const vehicle = nameOf(imei);
    setResult(error === undefined ? t('demo.done', { vehicle }) : t('demo.failed', { vehicle, error }));
    await queries.invalidateQueries({ queryKey });
  };
  return (
    <>
      <Menu
        opened={isOpen}
        onChange={setIsOpen}
        position="bottom-end"
        withinPortal={false}
        withInitialFocusPlaceholder={false}
      >
        <Menu.Target>
          <Button size="compact-sm" variant="default" leftSection={<IconPlayerPlay size={14} aria-hidden />}>
            {t('demo.button')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="70vh" style={{ overflowY: 'auto' }}>
          <Menu.Label>{terminals.length === 0 ? t('demo.none') : t('demo.title')}</Menu.Label>
          {terminals.map(({ imei, is_online: isOnline }) => (
            <Menu.Sub key={imei}>
              <Menu.Sub.Target>
                <Menu.Sub.Item>{isOnline ? nameOf(imei) : `${nameOf(imei)} (${t('demo.offline')})`}</Menu.Sub.Item>
              </Menu.Sub.Target>
              <Menu.Sub.Dropdown>
                {actions.map((action) => (
                  <Menu.Item key={action} onClick={() => void run(imei, action)}>
                    {t(`demo.${action}`)}
                  </Menu.Item>
                ))}
              </Menu.Sub.Dropdown>
            </Menu.Sub>
          ))}
        </Menu.Dropdown>
      </Menu>
      <output aria-live="polite">{result}</output>
    </>
  );
}
