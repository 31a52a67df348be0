import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Me } from '../../common/session/session.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { PageTabs } from '../../common/ui/page-tabs.tsx';
import { MiningTab } from './parts/mining-tab.tsx';
import { PartnersTab } from './parts/partners-tab.tsx';
import { UnassignedTab } from './parts/unassigned-tab.tsx';

const route = getRouteApi('/app/devices/{-$tab}');

type Tab = 'unassigned' | 'mining' | 'partners';

/** Permission that each tab requires. */
const permissionOf: Readonly<Record<Tab, Me['permissions'][number]>> = {
  unassigned: 'fleet',
  mining: 'fleet',
  partners: 'administration',
};
const tabs = Object.keys(permissionOf) as Tab[];

const contents: Readonly<Record<Tab, ReactNode>> = {
  unassigned: <UnassignedTab />,
  mining: <MiningTab />,
  partners: <PartnersTab />,
};

/** Shows terminals without a vehicle, mining devices, and partners whose servers report devices. */
export function DevicesPage() {
  const { t } = useTranslation('devices');
  const { tab } = route.useParams();
  const navigate = route.useNavigate();
  const can = useCan();
  const visible = tabs.filter((name) => can(permissionOf[name]));
  const current = tab === undefined ? visible[0] : tabs.find((name) => name === tab);
  if (current === undefined || !visible.includes(current)) return <NoPermission />;
  return (
    <div className="page">
      <h1>{t('title')}</h1>
      <PageTabs
        tabs={visible.map((name) => ({ name, label: t(`tab.${name}`), content: contents[name] }))}
        current={current}
        onChange={(name) => void navigate({ params: { tab: name } })}
      />
    </div>
  );
}
