-- Creates the database and its logins on an empty server, as a superuser in psql. The passwords are in files.
\set owner_password `cat /run/secrets/owner_password`
\set gateway_password `cat /run/secrets/gateway_password`

-- The owner, which migrates the database. The migrations could create the two roles, but only a superuser can grant voucher_gateway to a
-- login.
create role gateway_owner login password :'owner_password';
create role voucher_gateway nologin;
create role voucher_gateway_reader nologin;
grant voucher_gateway to gateway_owner with admin option;
grant voucher_gateway_reader to gateway_owner;

-- The login of the service: it has the rights of the role, and no others.
create role gateway_login login password :'gateway_password' in role voucher_gateway;

create database gateway owner gateway_owner encoding 'UTF8' locale 'C' template template0;
