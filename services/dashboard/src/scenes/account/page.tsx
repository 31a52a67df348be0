import { getRouteApi } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { TabbedPage } from '../../common/ui/tabbed-page.tsx';
import { AuditTab } from './parts/audit-tab.tsx';
import { BillingTab } from './parts/billing-tab.tsx';
import { ConfigurationTab } from './parts/configuration-tab.tsx';
import { CustomersTab } from './parts/customers-tab.tsx';
import { UsersTab } from './parts/users-tab.tsx';
import './account.css';

const route = getRouteApi('/app/account/{-$tab}');

/** Shows users, settings, audit log, billing and customers of the account. */
export function AccountPage() {
  const { t } = useTranslation('account');
  const { tab } = route.useParams();
  const navigate = route.useNavigate();
  return (
    <TabbedPage
      title={t('title')}
      tabs={[
        { name: 'users', label: t('tab.users'), permission: 'administration', content: <UsersTab /> },
        {
          name: 'configuration',
          label: t('tab.configuration'),
          permission: 'administration',
          content: <ConfigurationTab />,
        },
        { name: 'audit', label: t('tab.audit'), permission: 'administration', content: <AuditTab /> },
        { name: 'billing', label: t('tab.billing'), permission: 'billing', content: <BillingTab /> },
        { name: 'customers', label: t('tab.customers'), permission: 'accounts', content: <CustomersTab /> },
      ]}
      tab={tab}
      onChange={(name) => void navigate({ params: { tab: name } })}
    />
  );
}
