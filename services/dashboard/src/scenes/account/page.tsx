import { Tabs } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Me } from '../../common/session/session.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { AuditTab } from './parts/audit-tab.tsx';
import { BillingTab } from './parts/billing-tab.tsx';
import { ConfigurationTab } from './parts/configuration-tab.tsx';
import { CustomersTab } from './parts/customers-tab.tsx';
import { UsersTab } from './parts/users-tab.tsx';
import './account.css';

const route = getRouteApi('/app/account/{-$tab}');

type Tab = 'users' | 'configuration' | 'audit' | 'billing' | 'customers';

/** Permission that each tab requires. */
const permissionOf: Readonly<Record<Tab, Me['permissions'][number]>> = {
  users: 'administration',
  configuration: 'administration',
  audit: 'administration',
  billing: 'billing',
  customers: 'accounts',
};
const tabs = Object.keys(permissionOf) as Tab[];

/** Users, settings, audit log, billing and customers of the account. */
export function AccountPage() {
  const { t } = useTranslation('account');
  const { tab } = route.useParams();
  const navigate = route.useNavigate();
  const can = useCan();
  const visible = tabs.filter((name) => can(permissionOf[name]));
  const wanted = tabs.find((name) => name === tab);
  const current = wanted ?? visible[0];
  if (current === undefined || !visible.includes(current)) return <NoPermission />;
  return (
    <div className="page">
      <h1>{t('title')}</h1>
      <Tabs
        value={current}
        keepMounted={false}
        onChange={(name) => void navigate({ params: { tab: name ?? undefined } })}
      >
        <Tabs.List mb="lg">
          {visible.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`tab.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="users">
          <UsersTab />
        </Tabs.Panel>
        <Tabs.Panel value="configuration">
          <ConfigurationTab />
        </Tabs.Panel>
        <Tabs.Panel value="audit">
          <AuditTab />
        </Tabs.Panel>
        <Tabs.Panel value="billing">
          <BillingTab />
        </Tabs.Panel>
        <Tabs.Panel value="customers">
          <CustomersTab />
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}
