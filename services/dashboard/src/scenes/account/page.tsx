import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Me } from '../../common/session/session.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { PageTabs } from '../../common/ui/page-tabs.tsx';
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

const contents: Readonly<Record<Tab, ReactNode>> = {
  users: <UsersTab />,
  configuration: <ConfigurationTab />,
  audit: <AuditTab />,
  billing: <BillingTab />,
  customers: <CustomersTab />,
};

/** Shows users, settings, audit log, billing and customers of the account. */
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
      <PageTabs
        tabs={visible.map((name) => ({ name, label: t(`tab.${name}`), content: contents[name] }))}
        current={current}
        onChange={(name) => void navigate({ params: { tab: name } })}
      />
    </div>
  );
}
