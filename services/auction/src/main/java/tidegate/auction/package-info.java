/**
 * An auction site after RUBiS: servlets that read a request, JDBC that asks the database, JSP
 * that writes the page. Names of forms and paths are those of the reference site in Rust, so
 * that the same customers can walk both.
 *
 * <p>It is a server to measure. It has no limit on failed logins and belongs on loopback.
 */
package tidegate.auction;
